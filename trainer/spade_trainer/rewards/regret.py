"""How much a hint lowers an environment's difficulty (method.md §5.4)."""

from spade_trainer.rewards.window import Window, mean


def hint_regret(window: Window, *, without_hint: float | None = None) -> float | None:
    """Mean hinted return minus mean unhinted return at the first rollout that has any. May be negative.

    The unhinted mean is 0 if there was no unhinted play. Without hinted plays the hinted mean is `without_hint`; the
    regret is None if that is None too.
    """
    hinted = mean(window.hinted) if window.hinted else without_hint
    if hinted is None:
        return None
    return hinted - (mean(window.unhinted[0]) if window.unhinted else 0.0)
