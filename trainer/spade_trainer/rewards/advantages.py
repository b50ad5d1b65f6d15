"""Credit of both roles (method.md §5.2, §5.5)."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spade_contracts.config.rewards import Centring
from spade_contracts.errors import SpadeError

EPSILON = 1e-8


class NotFinite(SpadeError):
    """A return or reward is NaN or infinite: a sandbox client let it through, which is a bug of ours."""


class ShapeMismatch(SpadeError):
    """Two arrays that must describe the same things differ in shape, which is a bug of ours."""


def player_advantages(returns: ArrayLike) -> NDArray[np.float64]:
    """Z-scores of the returns of one environment in one rollout, with the population's standard deviation.

    returns: shape (plays,), at least one. Equal returns give zeros. Raises NotFinite. Source: method.md §5.2; V7.
    """
    values = _finite(returns)
    return np.asarray((values - values.mean()) / (values.std() + EPSILON))


def baseline_advantages(returns: ArrayLike, baseline: float) -> NDArray[np.float64]:
    """Returns less a baseline. returns: shape (plays,). Raises NotFinite. Source: method.md §5.2; V8."""
    return np.asarray(_finite(returns) - baseline)


def ema_baseline(earlier: Iterable[Sequence[float]], decay: float) -> float:
    """Moving average of the mean returns of earlier rollouts, oldest first; those without plays do not count.

    The first mean sets it; before that it is 0. decay: weight of the old value. Source: method.md §5.2; V8.
    """
    value: float | None = None
    for returns in earlier:
        if returns:
            new = float(np.mean(_finite(returns)))
            value = new if value is None else decay * value + (1 - decay) * new
    return 0.0 if value is None else value


def centring_groups(skills: Sequence[str], centring: Centring) -> tuple[str, ...]:
    """Whose mean each reward is measured against, as names of groups: its skill, or one for all."""
    return tuple(skills) if centring is Centring.SKILL else ("",) * len(skills)


def designer_advantages(rewards: ArrayLike, skills: Sequence[str], scale: float) -> NDArray[np.float64]:
    """Rewards measured against the others of their skill, times scale; not divided by a deviation.

    rewards: shape (environments,). skills: one name each. scale: unitless. The values of one skill sum to 0, so a lone
    environment gets 0. Raises ShapeMismatch and NotFinite. Source: method.md §5.5; V10, V15.
    """
    values = _finite(rewards)
    if values.shape != (len(skills),):
        raise ShapeMismatch(f"{values.shape[0]} rewards, but {len(skills)} skills")
    centred = values.copy()
    places: dict[str, list[int]] = {}
    for at, name in enumerate(skills):
        places.setdefault(name, []).append(at)
    for own in places.values():
        centred[own] -= values[own].mean()
    return centred * scale


def designer_scale(designer_samples: int, player_samples: int, cycle_length: int, cap: float) -> float:
    """Factor that gives designer samples the weight of the plays they stand for, at most cap (method.md §5.5; V6).

    player_samples: of the rollout that trains them. 1 if there are none of either.
    """
    if not designer_samples or not player_samples:
        return 1.0
    return min(cap, player_samples / designer_samples * cycle_length)


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    """The values as float64, shape (n,)."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise NotFinite(f"a return or reward is not finite: {array.tolist()}")
    return array
