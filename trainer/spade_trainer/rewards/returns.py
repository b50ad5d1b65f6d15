"""The return of an episode, and who gets none (method.md §5.1, §4.2, §1.6)."""

from collections.abc import Sequence

from spade_contracts.config.switches import EnvironmentFaultCredit, FailedHintedPlays, Switches
from spade_contracts.protocol import PROGRAM_FAULTS
from spade_contracts.statuses import Outcome
from spade_contracts.verdicts import Operation, VerifierFailure

CRASH_RETURN = -1.0
"""What the reference's wrapper pays a player whose program crashed (method.md §4.2, D16)."""
STEP_FAULTS = frozenset({"crash/step", "invalid_return/step"})
"""Faults that the reference's wrapper turns into a terminated episode; all others fail the play there."""
STEP_TIMEOUTS = frozenset({"timeout/open", "timeout/reset", "timeout/step"})
"""Faults for which the reference flags an environment (method.md §1.6); a tool's timeout is none of them."""

PLAY_OPERATIONS = (Operation.OPEN, Operation.RESET, Operation.STEP, Operation.TOOLS, Operation.CALL)
"""What a play asks of a session."""
KNOWN_FAULTS = frozenset(f"{kind}/{operation}" for kind in PROGRAM_FAULTS for operation in PLAY_OPERATIONS) | {
    f"{VerifierFailure.SUCCESS_WITH_ERROR}/{Operation.STEP}"
}
"""All that an episode's `fault` can say of its program, as `kind/operation`."""


def episode_return(rewards: Sequence[float], terminated: bool) -> float:
    """The last step's reward, clipped to [-1, 1], if the environment said `terminated`; else 0.

    rewards: one per step, in order; may be empty. Source: method.md §5.1; vector V3.
    """
    return max(-1.0, min(1.0, float(rewards[-1]))) if terminated and rewards else 0.0


def discounted_returns(rewards: Sequence[float], discount: float) -> tuple[float, ...]:
    """What follows each step, discounted. No training uses it (method.md §5.1); it is here to be compared. Vector V4.

    rewards: one per step, in order.
    """
    found: list[float] = []
    following = 0.0
    for reward in reversed(rewards):
        following = reward + discount * following
        found.append(following)
    return tuple(reversed(found))


def credited_return(
    outcome: Outcome, rewards: Sequence[float], *, terminated: bool, fault: str, hinted: bool, switches: Switches
) -> float | None:
    """The return that an episode counts with, or None if it is masked: no one learns from it.

    fault: `kind/operation` of an environment fault, else empty. An infrastructure fault is masked whatever the
    switches say. An environment fault is masked where the designer pays for it (`reward_of` in blend.py); where the
    player pays, a crash is -1, and a play that failed in another way is dropped, or 0 if hinted (D3).
    """
    match outcome:
        case Outcome.SCORED | Outcome.TRUNCATED:
            return episode_return(rewards, terminated)
        case Outcome.INFRASTRUCTURE_FAULT:
            return None
        case Outcome.ENVIRONMENT_FAULT:
            if switches.environment_fault_credit is EnvironmentFaultCredit.DESIGNER:
                return None
            if fault in STEP_FAULTS:
                return CRASH_RETURN
            return 0.0 if hinted and switches.failed_hinted_plays is FailedHintedPlays.ZERO else None
