"""`spade score --batch FILE`: the batch of one step, sample by sample (method.md §1.2, §5.2, §5.5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spade_contracts.config import MethodConfig
from spade_contracts.config.rewards import PlayerNormalisation
from spade_contracts.config.switches import BaselineMemory, LeftoverDesignerSamples
from spade_contracts.statuses import Outcome
from spade_trainer.due import scheduled_cycles
from spade_trainer.rewards.advantages import (
    baseline_advantages,
    centring_groups,
    designer_advantages,
    designer_scale,
    ema_baseline,
    player_advantages,
)
from spade_trainer.rewards.composition import (
    Place,
    batch_denominator,
    compose,
    drawn,
    full_batch,
    plays_wanted,
    rescale,
)
from spade_trainer.rewards.returns import credited_return, discounted_returns
from spade_trainer.scoring.documents import BatchInput, DesignInput, EpisodeInput, PlayedInput
from spade_trainer.scoring.reading import require_unique, settings_of


class LeftOut(StrEnum):
    """Why a design is not trained by this step."""

    DESIGNER_NOT_TRAINED = "DesignerNotTrained"
    """Setting rewards.trainDesigner."""
    OFF_SCHEDULE = "OffSchedule"
    """It was made in mid-cycle, and no step ever trains it (D6, switch leftoverDesignerSamples)."""
    NOT_DUE = "NotDue"
    """Its cycle is trained by another step, or by none."""
    NOTHING_KNOWN = "NothingKnown"
    """Its environment was never played."""
    MASKED = "Masked"
    """Its blend is negative. It counts in the scale."""


@dataclass(frozen=True)
class _Play:
    """One play that counts."""

    id: str
    environment: str
    episode_return: float
    advantage: float


def score_batch(document: BatchInput) -> dict[str, Any]:
    """The batch and what became of each play and design, ready for JSON. Raises InvalidInput with a path."""
    require_unique("environments", (one.id for one in document.environments))
    require_unique("designers", (one.id for one in document.designers))
    method = settings_of(document)
    plays = [play for one in document.environments for play in _plays(one, method)]
    reasons = {one.id: _left_out(one, document, method) for one in document.designers}
    due = [one for one in document.designers if reasons[one.id] is None]
    counted = [one for one in document.designers if reasons[one.id] in {None, LeftOut.MASKED}]
    full = full_batch(method)
    generated = document.generated if method.rewards.train_designer else 0
    players = max(len(plays), plays_wanted(full, generated, method.switches)) if plays else 0
    scales = {cycle: _scale(method, sum(one.cycle == cycle for one in counted), players) for cycle in _cycles(counted)}
    credit = _credit(due, scales, method)

    keep = drawn(method.seed, document.rollout)
    made = compose(len(due), len(plays), full=full, generated=generated, switches=method.switches, keep=keep)
    units = len(made.real)
    factor = rescale(method, units)

    def shown(place: Place) -> dict[str, Any]:
        name = due[place.index].id if place.designer else plays[place.index].id
        advantage = credit[name] if place.designer else plays[place.index].advantage
        return {
            "id": name,
            "role": "designer" if place.designer else "player",
            "repeat": place.repeat,
            "padding": place.padding,
            "advantage": advantage,
            "trainedAdvantage": 0.0 if place.padding else advantage * factor,
        }

    return {
        "profile": document.profile.value,
        "scale": next(iter(scales.values())) if len(scales) == 1 else None if scales else 1.0,
        "scales": [{"cycle": cycle, "scale": scale} for cycle, scale in scales.items()],
        "rescale": factor,
        "denominator": batch_denominator(method, units),
        "counts": {
            "fullBatch": full,
            "plays": len(plays),
            "designers": sum(place.designer for place in made.real),
            "players": sum(not place.designer for place in made.real),
            "repeats": made.repeats,
            "trimmed": len(made.trimmed),
            "padding": made.padding,
            "real": units,
        },
        "environments": [_environment(one, method, document.discount) for one in document.environments],
        "samples": [shown(place) for place in made.places],
        "trimmed": [shown(place) | {"trainedAdvantage": 0.0} for place in made.trimmed],
        "leftOut": [{"id": name, "reason": reason.value} for name, reason in reasons.items() if reason is not None],
    }


def _left_out(one: DesignInput, document: BatchInput, method: MethodConfig) -> LeftOut | None:
    """Why a design is not trained by this step; None if it is."""
    if not method.rewards.train_designer:
        return LeftOut.DESIGNER_NOT_TRAINED
    if one.off_schedule and method.switches.leftover_designer_samples is LeftoverDesignerSamples.DROPPED:
        return LeftOut.OFF_SCHEDULE
    due = scheduled_cycles(method, document.rollout, last_rollout=document.last_rollout)
    if one.cycle is not None and one.cycle not in due:
        return LeftOut.NOT_DUE
    if one.reward is None:
        return LeftOut.NOTHING_KNOWN
    return LeftOut.MASKED if one.masked else None


def _cycles(designs: Sequence[DesignInput]) -> tuple[int | None, ...]:
    """The cycles of these designs, each once, in order."""
    return tuple(dict.fromkeys(one.cycle for one in designs))


def _credit(due: Sequence[DesignInput], scales: Mapping[int | None, float], method: MethodConfig) -> dict[str, float]:
    """Advantages by design: each cycle is centred and scaled on its own."""
    credit: dict[str, float] = {}
    for cycle in _cycles(due):
        own = [one for one in due if one.cycle == cycle]
        groups = centring_groups([one.skill for one in own], method.rewards.centring)
        values = designer_advantages([one.reward or 0.0 for one in own], groups, scales[cycle]).tolist()
        credit |= {one.id: value for one, value in zip(own, values, strict=True)}
    return credit


def _scale(method: MethodConfig, designers: int, players: int) -> float:
    if not method.rewards.auto_scale:
        return 1.0
    return designer_scale(designers, players, method.environments.cycle_length, method.rewards.designer_scale_cap)


def _returns(one: PlayedInput, method: MethodConfig) -> list[float | None]:
    """The return that each play counts with; None: it counts for nothing."""
    return [_return(play, method) if isinstance(play, EpisodeInput) else play for play in one.episodes]


def _return(play: EpisodeInput, method: MethodConfig) -> float | None:
    """The return of one play, by its own word or by what happened in it."""
    if play.lost or play.episode_return is not None:
        return None if play.lost else play.episode_return
    outcome = Outcome.ENVIRONMENT_FAULT if play.fault else Outcome.SCORED
    return credited_return(
        outcome,
        play.rewards,
        terminated=play.terminated,
        fault=play.fault or "",
        hinted=False,
        switches=method.switches,
    )


def _before(one: PlayedInput, method: MethodConfig) -> float | None:
    """The moving average that returns are measured against; None where they are z-scored."""
    if method.rewards.player_normalisation is PlayerNormalisation.Z_SCORE:
        return None
    remembered = method.switches.baseline_memory is BaselineMemory.CYCLE
    return ema_baseline(one.earlier if remembered else (), method.rewards.baseline_decay)


def _plays(one: PlayedInput, method: MethodConfig) -> list[_Play]:
    """The plays of one environment that count, with their advantages."""
    returns = _returns(one, method)
    known = [(at, value) for at, value in enumerate(returns) if value is not None]
    if not known:
        return []
    before = _before(one, method)
    values = [value for _, value in known]
    credit = player_advantages(values) if before is None else baseline_advantages(values, before)
    names = [play.id if isinstance(play, EpisodeInput) else None for play in one.episodes]
    return [
        _Play(names[at] or f"{one.id}/{at}", one.id, value, float(advantage))
        for (at, value), advantage in zip(known, credit, strict=True)
    ]


def _environment(one: PlayedInput, method: MethodConfig, discount: float | None) -> dict[str, Any]:
    """What became of each play of one environment, and its moving average before and after them."""
    returns = _returns(one, method)
    plays = iter(_plays(one, method))
    credit = [next(plays).advantage if value is not None else None for value in returns]
    known = [value for value in returns if value is not None]
    before = _before(one, method)
    remembered = method.switches.baseline_memory is BaselineMemory.CYCLE
    earlier = one.earlier if remembered else ()
    shown: dict[str, Any] = {"id": one.id, "returns": returns, "advantages": credit}
    if before is not None:
        after = ema_baseline((*earlier, known), method.rewards.baseline_decay)
        shown |= {"baselineBefore": before, "baselineAfter": after}
    if discount is not None:
        given = [play.rewards if isinstance(play, EpisodeInput) else () for play in one.episodes]
        shown["discountedReturns"] = [list(discounted_returns(rewards, discount)) for rewards in given]
    return shown
