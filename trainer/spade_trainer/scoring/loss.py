"""`spade score --loss FILE`: every term of the policy loss, by token, by sample and in all (method.md §8.3, §8.4)."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from spade_contracts.config import LossConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.rewards.composition import batch_denominator
from spade_trainer.scoring.documents import LossInput, SampleInput
from spade_trainer.scoring.loss_terms import (
    Array,
    Flags,
    kl_penalty,
    policy_loss,
    ratio,
    sample_mean,
    truncated_importance,
)
from spade_trainer.scoring.reading import require_unique, settings_of

LISTS = ("train", "rollout", "reference", "old", "ratios", "values", "mask")


@dataclass(frozen=True)
class _Terms:
    """The terms of one sample; arrays have the shape (tokens,)."""

    ratio: Array
    clipped: Flags
    importance: Array
    weight: Array
    cut: Flags
    policy: Array
    """Before the weight."""
    weighted: Array
    kl: Array | None
    mask: Flags


def score_loss(document: LossInput) -> dict[str, Any]:
    """All terms, ready for JSON. Raises InvalidInput with the path of what cannot be computed."""
    require_unique("samples", (one.id or f"[{at}]" for at, one in enumerate(document.samples)))
    method = settings_of(document)
    config = method.learner.loss
    with np.errstate(over="ignore"):  # what becomes infinite is refused when it is printed
        terms = [_terms(at, one, config) for at, one in enumerate(document.samples)]
    groups = [(one.group, -1) if one.group is not None else ("", at) for at, one in enumerate(document.samples)]
    trained: Counter[tuple[str, int]] = Counter()
    for group, one in zip(groups, terms, strict=True):
        trained[group] += int(one.mask.sum())
    denominators = [
        float(max(1, trained[group])) if one.denominator is None else one.denominator
        for group, one in zip(groups, document.samples, strict=True)
    ]
    batch = document.batch_denominator or batch_denominator(method, len(set(groups)))
    with np.errstate(over="ignore"):
        reduced = [_reduced(one, below) for one, below in zip(terms, denominators, strict=True)]
    policy, kl = sum(one for one, _ in reduced), sum(one for _, one in reduced)
    return {
        "profile": document.profile.value,
        "samples": [
            {
                "id": one.id if one.id is not None else f"[{at}]",
                "group": one.group if one.group is not None else f"[{at}]",
                "tokens": _by_token(terms[at]),
                "trainedTokens": int(terms[at].mask.sum()),
                "denominator": denominators[at],
                "policyLoss": reduced[at][0],
                "kl": reduced[at][1],
            }
            for at, one in enumerate(document.samples)
        ],
        "batchDenominator": batch,
        "sums": {"policyLoss": policy, "kl": kl},
        "policyLoss": policy / batch,
        "kl": kl / batch,
        "klCoefficient": config.kl_coefficient,
        "loss": (policy + config.kl_coefficient * kl) / batch,
        "statistics": _statistics(terms),
    }


def _terms(at: int, one: SampleInput, config: LossConfig) -> _Terms:
    """The terms of one sample."""
    length = _length(at, one)
    mask = np.ones(length, dtype=np.bool_) if one.mask is None else np.asarray(one.mask, dtype=np.bool_)
    if one.values is not None:
        values, ones, none = np.asarray(one.values), np.ones(length), np.zeros(length, dtype=np.bool_)
        return _Terms(ones, none, ones, ones, none, values, values, None, mask)
    train = np.zeros(length) if one.train is None else np.asarray(one.train, dtype=np.float64)
    advantage = np.broadcast_to(np.asarray(one.advantage, dtype=np.float64), (length,))
    if one.ratios is not None:
        ratios = np.asarray(one.ratios, dtype=np.float64)
    else:
        ratios = ratio(train, train if one.old is None else np.asarray(one.old, dtype=np.float64))
    policy, clipped = policy_loss(ratios, advantage, config.clip_low, config.clip_high)
    rollout = train if one.rollout is None else np.asarray(one.rollout, dtype=np.float64)
    raw, weight, cut = truncated_importance(train, rollout, config.importance_low, config.importance_high)
    kl = None if one.reference is None else kl_penalty(train, np.asarray(one.reference, dtype=np.float64))
    return _Terms(ratios, clipped, raw, weight, cut, policy, policy * weight, kl, mask)


def _reduced(one: _Terms, denominator: float) -> tuple[float, float]:
    """Policy loss and penalty of one sample over its denominator."""
    kl = 0.0 if one.kl is None else sample_mean(one.kl, one.mask, denominator)
    return sample_mean(one.weighted, one.mask, denominator), kl


def _length(at: int, one: SampleInput) -> int:
    """The number of tokens. Raises InvalidInput if lists differ in length or do not go together."""
    where = f"$.samples[{at}]"
    found = {name: len(value) for name in LISTS if (value := getattr(one, name)) is not None}
    if isinstance(one.advantage, tuple):
        found["advantage"] = len(one.advantage)
    if one.values is not None and {*found} - {"values", "mask", "advantage"}:
        raise InvalidInput(f"{where}.values", "is in place of all log-probabilities; leave the others out")
    if one.ratios is not None and one.old is not None:
        raise InvalidInput(f"{where}.ratios", "is in place of old; write one of them")
    if one.train is None and one.values is None and (one.ratios is None or one.rollout or one.reference):
        raise InvalidInput(f"{where}.train", "is missing; write the learner's log-probabilities")
    name, length = next(iter(found.items()))
    other = next((key for key, count in found.items() if count != length), None)
    if other is not None:
        raise InvalidInput(f"{where}.{other}", f"has {found[other]} entries, but {name} has {length}")
    return length


def _by_token(one: _Terms) -> list[dict[str, Any]]:
    """The terms of each token."""
    return [
        {
            "trained": bool(one.mask[i]),
            "ratio": float(one.ratio[i]),
            "clipped": bool(one.clipped[i]),
            "importance": float(one.importance[i]),
            "weight": float(one.weight[i]),
            "cut": bool(one.cut[i]),
            "policyLoss": float(one.policy[i]),
            "weightedLoss": float(one.weighted[i]),
            "kl": None if one.kl is None else float(one.kl[i]),
        }
        for i in range(len(one.mask))
    ]


def _statistics(terms: list[_Terms]) -> dict[str, float]:
    """Means over all trained tokens; 0 without any."""

    def over(values: list[Array | Flags]) -> float:
        chosen = [value[one.mask] for value, one in zip(values, terms, strict=True)]
        tokens = sum(len(value) for value in chosen)
        return float(sum(value.sum() for value in chosen) / tokens) if tokens else 0.0

    return {
        "trainedTokens": int(sum(one.mask.sum() for one in terms)),
        "ratioMean": over([one.ratio for one in terms]),
        "clippedFraction": over([one.clipped for one in terms]),
        "importanceMean": over([one.importance for one in terms]),
        "weightMean": over([one.weight for one in terms]),
        "cutFraction": over([one.cut for one in terms]),
        "weightDistanceMean": over([np.abs(one.importance - 1.0) for one in terms]),
    }
