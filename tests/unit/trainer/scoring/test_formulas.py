"""`spade score` agrees with the formulas of method.md §5 and §8 written down a second time, whatever it is given."""

import json
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_trainer.scoring.tool import Kind, scored

RETURN = st.floats(-1, 1, allow_subnormal=False).map(lambda value: round(value, 6))
PLAY = st.one_of(st.none(), RETURN)
OFFSETS = st.lists(st.lists(PLAY, max_size=4), max_size=4)
ENVIRONMENT = st.fixed_dictionaries(
    {
        "skill": st.sampled_from("ABC"),
        "unhinted": st.one_of(OFFSETS, OFFSETS.map(lambda rows: {str(2 * at): row for at, row in enumerate(rows)})),
        "stepTimeout": st.booleans(),
        "fault": st.booleans(),
    },
    optional={"hintReturn": RETURN},
)
WEIGHT = st.floats(0, 2).map(lambda value: round(value, 3))
UNIT = st.floats(0.05, 1).map(lambda value: round(value, 3))
REWARDS = st.fixed_dictionaries(
    {
        "variant": st.sampled_from(["Blend", "Regret", "LearningPotential", "MicroLp", "SolveRate"]),
        "plateau": st.sampled_from([(0.4, 0.6, 0.25), (0.2, 0.4, 0.2), (0.5, 0.5, 1.0), (-1.0, 0.0, 0.1)]).map(
            lambda band: dict(zip(("low", "high", "ramp"), band, strict=True))
        ),
        "plateauWeight": WEIGHT,
        "regretWeight": WEIGHT,
        "regretScale": UNIT,
        "regretFloor": st.booleans(),
        "microLp": st.fixed_dictionaries(
            {
                "weight": WEIGHT,
                "scale": UNIT,
                "signed": st.booleans(),
                "estimator": st.sampled_from(["Slope", "Halves"]),
            }
        ),
        "frontier": st.fixed_dictionaries({"weight": WEIGHT, "scale": UNIT}),
        "learningPotential": st.just({"fast": 0.98, "slow": 0.85}),
        "faultPenalty": WEIGHT,
        "negativeBlends": st.sampled_from(["Masked", "Trained"]),
        "centring": st.sampled_from(["Skill", "Batch"]),
    }
)


def rows_of(one: dict[str, Any]) -> list[list[float]]:
    """Recorded returns by rollout: in a list, one without any was not recorded."""
    rows = one["unhinted"]
    if isinstance(rows, dict):
        return [[value for value in rows[key] if value is not None] for key in sorted(rows, key=int)]
    return [row for row in ([value for value in row if value is not None] for row in rows) if row]


def flat(rows: list[list[float]]) -> list[float]:
    return list(chain.from_iterable(rows))


def average(values: Any) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def gain(rows: list[list[float]], settings: dict[str, Any]) -> float:
    """Micro learning potential of the blend; the line is numpy's own."""
    if len(rows) < 2:
        return 0.0
    if settings["estimator"] == "Halves":
        value = halves(rows)
    else:
        weights = np.sqrt([max(1, len(row)) for row in rows])
        value = float(
            np.polyfit(np.arange(len(rows)), [average(row) for row in rows], 1, w=weights)[0] * (len(rows) - 1)
        )
    return value if settings["signed"] else max(0.0, value)


def halves(rows: list[list[float]]) -> float:
    middle = len(rows) // 2
    return average(flat(rows[middle:])) - average(flat(rows[:middle])) if len(rows) > 1 else 0.0


def reward(one: dict[str, Any], settings: dict[str, Any], slow: float) -> float:
    """§5.4, with the reference's defects."""
    rows, hint = rows_of(one), one.get("hintReturn", 0.0)
    win = average(flat(rows))
    match settings["variant"]:
        case "Regret":
            return -settings["faultPenalty"] if one["stepTimeout"] else max(0.0, hint - win)
        case "LearningPotential":
            return abs(win - slow) if flat(rows) else 0.0
        case "MicroLp":
            return max(0.0, halves(rows))
    band, alone = settings["plateau"], settings["variant"] == "SolveRate"
    level = 1 - max(band["low"] - win, win - band["high"], 0) / band["ramp"]
    regret = (hint - (average(rows[0]) if rows else 0.0)) / settings["regretScale"]
    if settings["regretFloor"]:
        regret = float(np.clip(regret, 0, 1))
    micro, frontier = settings["microLp"], settings["frontier"]
    return (
        (0.0 if alone else settings["regretWeight"]) * regret
        + micro["weight"] * gain(rows, micro) / micro["scale"]
        + (1.0 if alone else settings["plateauWeight"]) * max(0.0, level)
        - frontier["weight"] * (win - 0.5) ** 2 / frontier["scale"]
    )


@given(
    st.lists(ENVIRONMENT, max_size=7), REWARDS, st.dictionaries(st.sampled_from("ABC"), st.lists(RETURN, max_size=2))
)
def test_every_variant_of_a_window(
    environments: list[dict[str, Any]], rewards: dict[str, Any], history: dict[str, list[float]]
) -> None:
    named = [{**one, "id": str(at)} for at, one in enumerate(environments)]
    document = {
        "profile": "Paper",
        "settings": {"rewards": rewards},
        "scale": 32,
        "environments": named,
        "history": history,
    }
    found = json.loads(scored(Kind.WINDOW, json.dumps(document)))["environments"]
    slow: dict[str, float] = {}
    for skill in "ABC":
        present = [value for one in named if one["skill"] == skill for row in rows_of(one) for value in row]
        means = [*history.get(skill, ()), *([average(present)] if present else [])]
        for at, value in enumerate(means):
            slow[skill] = value if at == 0 else 0.15 * slow[skill] + 0.85 * value
    wanted = [reward(one, rewards, slow.get(one["skill"], 0.0)) for one in named]
    assert [one["reward"] for one in found] == pytest.approx(wanted, abs=1e-9)
    blends = [reward(one, rewards | {"variant": "Blend"}, 0.0) for one in named]
    assert [one["blend"] for one in found] == pytest.approx(blends, abs=1e-9)
    assert all(one["scale"] == 32 for one in found)
    maskable = rewards["variant"] in {"Blend", "SolveRate"} and rewards["negativeBlends"] == "Masked"
    left_out = [maskable and one["reward"] < 0 for one in found]
    assert [one["masked"] for one in found] == left_out
    group = [one["skill"] if rewards["centring"] == "Skill" else "" for one in named]
    kept = [at for at in range(len(named)) if not left_out[at]]
    for at in kept:
        centre = average([found[other]["reward"] for other in kept if group[other] == group[at]])
        assert found[at]["advantage"] == pytest.approx(32 * (found[at]["reward"] - centre), abs=1e-9)
    assert all(found[at]["advantage"] is None for at in range(len(named)) if left_out[at])


LOG_PROB = st.floats(-30, 0, allow_subnormal=False).map(lambda value: round(value, 6))
TOKEN = st.tuples(LOG_PROB, LOG_PROB, LOG_PROB, LOG_PROB, st.booleans(), st.floats(-50, 50))
SAMPLE = st.tuples(st.lists(TOKEN, max_size=6), st.sampled_from([None, "x", "y"]), st.sampled_from([None, 3.5]))


@given(
    st.lists(SAMPLE, max_size=5),
    st.floats(0, 1),
    st.floats(0, 3),
    st.floats(0, 1),
    st.floats(1, 5),
    st.floats(0, 1),
    st.sampled_from([None, 192.0]),
)
def test_every_term_of_a_loss(
    samples: list[Any], clip_low: float, clip_high: float, low: float, high: float, kl: float, below: float | None
) -> None:
    names = ("train", "rollout", "reference", "old", "mask", "advantage")
    written = []
    for tokens, group, denominator in samples:
        lists = {name: [token[at] for token in tokens] for at, name in enumerate(names)}
        chosen = {"group": group, "denominator": denominator}
        written.append({**lists, **{name: value for name, value in chosen.items() if value is not None}})
    settings = {
        "clipLow": clip_low,
        "clipHigh": clip_high,
        "importanceLow": low,
        "importanceHigh": high,
        "klCoefficient": kl,
    }
    document = {"profile": "Corrected", "settings": {"learner": {"loss": settings}}, "samples": written}
    if below is not None:
        document["batchDenominator"] = below
    found = json.loads(scored(Kind.LOSS, json.dumps(document)))

    total, groups = 0.0, {at if one.get("group") is None else one["group"] for at, one in enumerate(written)}
    for at, one in enumerate(written):
        train, rollout, reference, old, advantage = (
            np.array(one[name]) for name in ("train", "rollout", "reference", "old", "advantage")
        )
        mask = np.array(one["mask"], dtype=float)
        same = [other for other in written if one.get("group") is not None and other.get("group") == one["group"]]
        count = sum(sum(other["mask"]) for other in same) if same else mask.sum()
        divisor = one.get("denominator") or max(1.0, float(count))
        changed = np.exp(train - old)
        policy = np.maximum(-changed * advantage, -np.clip(changed, 1 - clip_low, 1 + clip_high) * advantage)
        weight = np.clip(np.exp(train - rollout), low, high)
        distance = train - reference
        penalty = np.clip(np.exp(-distance) - 1 + distance, -10, 10)
        policy_part = float((policy * weight * mask).sum() / divisor)
        kl_part = float((penalty * mask).sum() / divisor)
        assert found["samples"][at]["policyLoss"] == pytest.approx(policy_part, rel=1e-9, abs=1e-9)
        assert found["samples"][at]["kl"] == pytest.approx(kl_part, rel=1e-9, abs=1e-9)
        total += policy_part + kl * kl_part
    divisor = below or max(1, len(groups))
    assert found["loss"] == pytest.approx(total / divisor, rel=1e-9, abs=1e-9)
