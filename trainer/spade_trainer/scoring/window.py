"""`spade score FILE`: what the designers of a cycle's environments earn, and every term of it."""

from typing import Any

from spade_contracts.config import MethodConfig
from spade_contracts.config.rewards import WINDOW_VARIANTS, RewardVariant
from spade_contracts.config.switches import RegretEstimator
from spade_contracts.errors import InvalidInput
from spade_trainer.rewards.advantages import centring_groups, designer_advantages, designer_scale
from spade_trainer.rewards.blend import normalised_regret
from spade_trainer.rewards.composition import full_batch
from spade_trainer.rewards.designer import Cause, Reward, blend_of, rewards_of, trackers_of
from spade_trainer.rewards.learnable import difficulty
from spade_trainer.rewards.learning_potential import Tracker, signed_potential
from spade_trainer.rewards.window import Window, mean, mean_or_zero
from spade_trainer.scoring.documents import EnvironmentInput, Moment, Number, WindowInput
from spade_trainer.scoring.reading import require_unique, settings_of

PAID_BY_HINT = frozenset({RewardVariant.BLEND, RewardVariant.REGRET})


def score_window(document: WindowInput) -> dict[str, Any]:
    """Every figure of a window, ready for JSON. Raises InvalidInput with the path of what cannot be scored."""
    require_unique("environments", (one.id for one in document.environments))
    method = settings_of(document)
    if document.moment is Moment.GENERATION:
        method = _at_generation(method)
    windows = [_window(at, one, document, method) for at, one in enumerate(document.environments)]
    skilled = [(one.skill, window) for one, window in zip(document.environments, windows, strict=True)]
    trackers = trackers_of(skilled, method.rewards, document.history, with_present=document.update_trackers)
    rewards = rewards_of(skilled, method.rewards, method.switches, trackers)
    trained = [at for at, reward in enumerate(rewards) if reward.trained and method.rewards.train_designer]
    groups = centring_groups([skill for skill, _ in skilled], method.rewards.centring)
    scale = _scale(document, method, rewards)
    values = {at: rewards[at].value or 0.0 for at in trained}
    credit = designer_advantages(list(values.values()), [groups[at] for at in trained], scale).tolist()
    advantages = dict(zip(trained, credit, strict=True))
    by_group: dict[str, list[float]] = {}
    for at, value in values.items():
        by_group.setdefault(groups[at], []).append(value)
    means = {group: mean(own) for group, own in by_group.items()}
    by_skill: dict[str, list[Window]] = {skill: [] for skill in sorted(trackers)}
    for skill, window in skilled:
        by_skill[skill].append(window)
    return {
        "profile": document.profile.value,
        "variant": method.rewards.variant.value,
        "scale": scale,
        "environments": [
            {
                "id": one.id,
                "skill": one.skill,
                **_signals(windows[at], rewards[at], method),
                "reward": rewards[at].value,
                "cause": rewards[at].cause.value,
                "masked": rewards[at].masked,
                "mean": means.get(groups[at]) if at in advantages else None,
                "scale": scale,
                "advantage": advantages.get(at),
            }
            for at, one in enumerate(document.environments)
        ],
        "skills": {skill: _skill(own, trackers[skill], method) for skill, own in by_skill.items()},
        "difficulty": _difficulty(windows),
        "fractions": _fractions(rewards, method),
    }


def _at_generation(method: MethodConfig) -> MethodConfig:
    """The settings of the reward at generation: variants that need a window pay the floored regret (method.md §5.5)."""
    if method.rewards.variant not in WINDOW_VARIANTS:
        return method
    rewards = method.rewards.model_copy(update={"variant": RewardVariant.REGRET})
    return method.model_copy(update={"rewards": rewards})


def _window(at: int, one: EnvironmentInput, document: WindowInput, method: MethodConfig) -> Window:
    """The returns of one environment as rewards take them."""
    if isinstance(one.unhinted, dict):
        rows = [one.unhinted[key] for key in sorted(one.unhinted, key=int)]
        first = next((row for key, row in one.unhinted.items() if int(key) == 0), ())
    else:
        rows = [row for row in one.unhinted if _known(row)]
        first = one.unhinted[0] if one.unhinted else ()
    if document.moment is Moment.GENERATION:
        rows = rows[:1]
    paired = method.switches.regret_estimator is RegretEstimator.PAIRED
    if paired and one.hint_return is not None and method.rewards.variant in PAID_BY_HINT:
        raise InvalidInput(
            f"$.environments[{at}].hintReturn",
            "a mean cannot be paired with plays",
            remedy="Write the returns as hinted, play by play, or settings.switches.regretEstimator: FirstOffset.",
        )
    return Window(
        unhinted=tuple(_known(row) for row in rows),
        hinted=_known(one.hinted),
        environment_faults=int(one.fault) + int(one.step_timeout),
        step_timeouts=int(one.step_timeout),
        pairs=tuple(
            (plain, helped)
            for plain, helped in zip(first, one.hinted, strict=False)
            if plain is not None and helped is not None
        ),
        hint_return=one.hint_return,
    )


def _known(row: tuple[Number | None, ...]) -> tuple[float, ...]:
    return tuple(value for value in row if value is not None)


def _scale(document: WindowInput, method: MethodConfig, rewards: tuple[Reward, ...]) -> float:
    """The scale given, or the computed one."""
    if document.scale is not None:
        return document.scale
    if not method.rewards.auto_scale:
        return 1.0
    full = full_batch(method)
    known = sum(reward.value is not None for reward in rewards)
    return designer_scale(
        known if document.counts.designers is None else document.counts.designers,
        full if document.counts.players is None else document.counts.players,
        method.environments.cycle_length,
        method.rewards.designer_scale_cap,
    )


def _signals(window: Window, reward: Reward, method: MethodConfig) -> dict[str, Any]:
    """What was measured of one environment."""
    seen = reward.signals
    regret = None if seen.regret is None else seen.regret.value
    return {
        "plays": window.plays,
        "winRate": seen.win_rate,
        "winFraction": seen.win_fraction,
        "firstReturn": window.first_return,
        "hintReturn": window.hinted_mean,
        "regret": regret,
        "regretStandardError": None if seen.regret is None else seen.regret.standard_error,
        "regretNormalised": normalised_regret(regret, method.rewards),
        "pairs": len(window.pairs),
        "windowRegret": seen.window_regret,
        "plateau": seen.plateau,
        "microLp": seen.micro_lp,
        "lateMinusEarly": seen.late_minus_early,
        "frontier": seen.frontier,
        "learningPotential": seen.learning_potential,
        "varianceBonus": seen.variance_bonus,
        "blend": blend_of(seen, method.rewards),
    }


def _skill(own: list[Window], tracker: Tracker, method: MethodConfig) -> dict[str, float | int | None]:
    """Moving averages of one skill with these environments, this window included."""
    returns = [value for window in own for value in window.returns]
    signed = signed_potential(tracker, method.rewards.learning_potential)
    return {
        "environments": len(own),
        "meanReturn": mean_or_zero(returns) if returns else None,
        "fast": tracker.fast,
        "slow": tracker.slow,
        "potential": abs(signed),
        "signedPotential": signed,
    }


def _difficulty(windows: list[Window]) -> dict[str, float] | None:
    """Shares of environments by their first mean return; None without any."""
    shares = difficulty([mean_or_zero(window.unhinted[0]) for window in windows if window.unhinted])
    return None if shares is None else {"easy": shares.easy, "learnable": shares.learnable, "hard": shares.hard}


def _fractions(rewards: tuple[Reward, ...], method: MethodConfig) -> dict[str, float]:
    """Shares of the environments that a rule took hold of; 0 without environments."""
    count = max(1, len(rewards))
    regret_only = method.rewards.variant is RewardVariant.REGRET

    def floored(reward: Reward) -> bool:
        seen = reward.signals.regret
        value = reward.signals.window_regret if regret_only else None if seen is None else seen.value
        return reward.cause is Cause.VARIANT and value is not None and value < 0

    return {
        "negativeRegret": sum(map(floored, rewards)) / count,
        "masked": sum(reward.masked for reward in rewards) / count,
        "stepTimeout": sum(reward.cause is Cause.STEP_TIMEOUT for reward in rewards) / count,
    }
