"""The vectors of method.md §14 come out of `spade score` too, whatever form they are written in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_trainer.scoring.tool import Kind, scored


def window(*environments: dict[str, Any], **head: Any) -> dict[str, Any]:
    document = {"profile": "Paper", "environments": list(environments), **head}
    found: dict[str, Any] = json.loads(scored(Kind.WINDOW, json.dumps(document)))
    return found


def batch(*environments: dict[str, Any], **head: Any) -> dict[str, Any]:
    document = {"profile": "Paper", "environments": list(environments), **head}
    found: dict[str, Any] = json.loads(scored(Kind.BATCH, json.dumps(document)))
    return found


def loss(*samples: dict[str, Any], **head: Any) -> dict[str, Any]:
    document = {"profile": "Paper", "samples": list(samples), **head}
    found: dict[str, Any] = json.loads(scored(Kind.LOSS, json.dumps(document)))
    return found


@pytest.mark.parametrize(
    ("win_rate", "expected"),
    [
        (-0.2, 0),
        (0, 0),
        (0.15, 0),
        (0.2, 0.2),
        (0.275, 0.5),
        (0.4, 1),
        (0.5, 1),
        (0.6, 1),
        (0.65, 0.8),
        (0.7, 0.6),
        (0.85, 0),
        (1, 0),
    ],
)
def test_v1_plateau(win_rate: float, expected: float) -> None:
    found = window({"id": "a", "unhinted": [[win_rate]]})
    assert found["environments"][0]["plateau"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("win_rate", "expected"), [(0, 0), (0.1, 0.5), (0.2, 1), (0.4, 1), (0.5, 0.5), (0.6, 0), (0.7, 0)]
)
def test_v2_plateau_of_the_later_phase(win_rate: float, expected: float) -> None:
    settings = {"rewards": {"plateau": {"low": 0.2, "high": 0.4, "ramp": 0.2}}}
    found = window({"id": "a", "unhinted": [[win_rate]]}, settings=settings)
    assert found["environments"][0]["plateau"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("wins", "losses", "expected"), [(8, 8, 1), (8, 0, 0.043937), (4, 12, 0.822578), (1, 1, 1), (0, 2, 0.043937)]
)
@pytest.mark.parametrize("paid", [False, True])
def test_v5_variance_bonus(wins: int, losses: int, expected: float, paid: bool) -> None:
    settings = {"rewards": {"variant": "LearningPotential", "learningPotential": {"varianceBonus": paid}}}
    (found,) = window({"id": "a", "unhinted": [[1] * wins + [0] * losses]}, settings=settings)["environments"]
    assert found["varianceBonus"] == pytest.approx(expected, abs=1e-6)
    assert found["reward"] == pytest.approx(found["learningPotential"] + (expected if paid else 0), abs=1e-6)


def test_v3_and_v4_returns() -> None:
    plays = [
        {"rewards": [0.3, 0.5, 1], "terminated": True},
        {"rewards": [0.3, 0.5], "terminated": False},
        {"rewards": [], "terminated": True},
        {"rewards": [5], "terminated": True},
        {"rewards": [-3], "terminated": True},
        {"rewards": [0.4, 0.6], "terminated": True},
        {"rewards": [1, 0], "terminated": True},
        {"rewards": [0, 0, 1], "terminated": True},
        {"rewards": [0.1, -0.1, 1]},
    ]
    (found,) = batch({"id": "g", "episodes": plays}, discount=0.99)["environments"]
    assert found["returns"] == [1, 0, 0, 1, -1, 0.6, 0, 1, 0]
    assert found["discountedReturns"][7] == pytest.approx([0.9801, 0.99, 1])
    assert found["discountedReturns"][8] == pytest.approx([0.9811, 0.89, 1])


@pytest.mark.parametrize(
    ("designers", "players", "length", "expected"),
    [
        (24, 192, 4, 32),
        (24, 192, 8, 50),
        (20, 192, 4, 38.4),
        (24, 168, 4, 28),
        (48, 192, 4, 16),
        (16, 256, 32, 50),
        (0, 192, 4, 1),
        (24, 0, 4, 1),
    ],
)
def test_v6_scale(designers: int, players: int, length: int, expected: float) -> None:
    settings = {"environments": {"cycleLength": length}}
    found = window(settings=settings, counts={"players": players, "designers": designers})
    assert found["scale"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ([1, 0, 0, 0, 0, 0, 0, 0], [2.645751] + [-0.377964] * 7),
        ([1, 0.5, 0, -1], [1.183216, 0.507093, -0.169031, -1.521278]),
        ([1, 1, 1, 1, 0, 0, 0, 0], [1] * 4 + [-1] * 4),
        ([1, 1], [0, 0]),
        ([1, {"fault": "crash/step"}], [1, -1]),
    ],
)
def test_v7_player_advantages(returns: list[Any], expected: list[float]) -> None:
    (found,) = batch({"id": "g", "episodes": returns})["environments"]
    assert found["advantages"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("earlier", "returns", "advantages", "after"),
    [
        ([], [1, 0], [1, 0], 0.5),
        ([[1, 0]], [1, 1], [0.5, 0.5], 0.75),
        ([[1, 0], [1, 1]], [0, 0], [-0.75, -0.75], 0.375),
    ],
)
def test_v8_moving_average(
    earlier: list[list[float]], returns: list[float], advantages: list[float], after: float
) -> None:
    settings = {"rewards": {"playerNormalisation": "EmaBaseline"}, "switches": {"baselineMemory": "Cycle"}}
    (found,) = batch({"id": "g", "episodes": returns, "earlier": earlier}, settings=settings)["environments"]
    assert (found["advantages"], found["baselineAfter"]) == (pytest.approx(advantages), pytest.approx(after))


def test_v9_trackers_without_any_environment() -> None:
    found = window(history={"A": [0.25, 0.75, 0.5]})["skills"]["A"]
    assert (found["fast"], found["slow"]) == pytest.approx((0.5048, 0.52625))
    assert (found["potential"], found["signedPotential"]) == pytest.approx((0.0825, -0.0825))


def test_moving_averages_may_leave_out_the_window_that_is_measured() -> None:
    found = window(
        {"id": "a", "skill": "A", "unhinted": [[1, 1]]},
        {"id": "b", "skill": "B", "unhinted": [[1, 0]]},
        settings={"rewards": {"variant": "LearningPotential"}},
        history={"A": [0.25]},
        updateTrackers=False,
    )
    assert [one["reward"] for one in found["environments"]] == [0.75, 0.5]
    assert (found["skills"]["A"]["slow"], found["skills"]["B"]["slow"]) == (0.25, None)


def test_v24_difficulty() -> None:
    environments = [{"id": str(at), "unhinted": [[value], [0]]} for at, value in enumerate([0.9, 0.8, 0.2, 0.1, 0.5])]
    assert window(*environments)["difficulty"] == pytest.approx({"easy": 0.2, "learnable": 0.6, "hard": 0.2})


def test_v25_repeats() -> None:
    settings = {"environments": {"perCycle": 2}, "play": {"playsPerEnvironment": 4}}
    found = batch({"id": "g", "episodes": [1, 0, 1]}, settings=settings)
    assert [sample["id"] for sample in found["samples"]] == [f"g/{at}" for at in (0, 1, 2, 0, 1, 2, 0, 1)]
    assert [sample["repeat"] > 0 for sample in found["samples"]] == [False] * 3 + [True] * 5


def test_an_offset_that_is_not_there_leaves_no_gap_and_an_empty_one_counts_as_lost() -> None:
    listed = {"id": "a", "unhinted": [[], [0, 1], [], [1, 1]], "hintReturn": 0.75}
    keyed = {"id": "b", "unhinted": {"3": [1, 1], "1": [0, 1]}, "hintReturn": 0.75}
    empty = {"id": "c", "unhinted": {"0": [], "1": [0, 1], "3": [1, 1]}, "hintReturn": 0.75}
    first, second, third = window(listed, keyed, empty)["environments"]
    assert (first["regret"], first["microLp"]) == (0.25, pytest.approx(0.5))
    assert {**first, "id": "b"} == second
    assert (third["regret"], third["winRate"]) == (0.75, 0.75)


def test_designs_of_several_cycles_are_trained_when_they_are_due() -> None:
    designs = [{"id": f"d{cycle}", "reward": cycle / 4, "cycle": cycle} for cycle in range(3)]
    at_start = batch(designers=designs, rollout=8)
    at_end = batch(designers=designs, rollout=11, lastRollout=True)
    assert [sample["id"] for sample in at_start["samples"] if not sample["padding"]] == ["d1"]
    assert at_start["leftOut"] == [{"id": "d0", "reason": "NotDue"}, {"id": "d2", "reason": "NotDue"}]
    assert [left["reason"] for left in at_end["leftOut"]] == ["NotDue"] * 3
    trained = {"profile": "Corrected", "designers": designs, "rollout": 8, "lastRollout": True}
    corrected = batch(**trained)
    assert [sample["id"] for sample in corrected["samples"]] == ["d1", "d2"]
    assert [one["cycle"] for one in corrected["scales"]] == [1, 2]


@pytest.mark.parametrize(
    ("design", "reason"),
    [
        ({"reward": None}, "NothingKnown"),
        ({"reward": -0.1, "masked": True}, "Masked"),
        ({"reward": 0.5, "offSchedule": True}, "OffSchedule"),
    ],
)
def test_a_design_that_is_not_trained_says_why(design: dict[str, Any], reason: str) -> None:
    assert batch(designers=[{"id": "d", **design}])["leftOut"] == [{"id": "d", "reason": reason}]


def test_a_designer_that_is_not_trained_has_no_advantages() -> None:
    settings = {"rewards": {"trainDesigner": False}}
    found = window({"id": "a", "unhinted": [[1, 0]]}, settings=settings)
    assert (found["environments"][0]["reward"], found["environments"][0]["advantage"]) == (pytest.approx(0.6), None)
    left = batch(designers=[{"id": "d", "reward": 1}], settings=settings)["leftOut"]
    assert left == [{"id": "d", "reason": "DesignerNotTrained"}]


def test_v22_penalty_and_v23_masked_sample() -> None:
    found = loss(
        {"train": [-1, -1, -1], "reference": [-1, -0.5, -2]}, {"values": [5, 7], "mask": [0, 0]}, batchDenominator=1
    )
    kl = [token["kl"] for token in found["samples"][0]["tokens"]]
    assert kl == pytest.approx([0, 0.148721, 0.367879], abs=1e-6)
    assert found["samples"][1]["policyLoss"] == 0


NUMBER = st.floats(-20, 0)
ROWS = st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER, st.booleans()), min_size=1, max_size=8)


@given(ROWS, st.floats(-3, 3), NUMBER)
def test_masked_tokens_never_change_the_loss(
    rows: list[tuple[float, float, float, float, bool]], advantage: float, other: float
) -> None:
    def scores(replaced: bool) -> dict[str, Any]:
        shown = [row if row[4] or not replaced else (other, other - 1, other + 1, other, False) for row in rows]
        names = ("train", "rollout", "reference", "old")
        lists = {name: [row[at] for row in shown] for at, name in enumerate(names)}
        settings = {"learner": {"loss": {"klCoefficient": 0.1}}}
        return loss({**lists, "mask": [row[4] for row in rows], "advantage": advantage}, settings=settings)

    first, second = scores(False), scores(True)
    assert (first["loss"], first["statistics"]) == (second["loss"], second["statistics"])
