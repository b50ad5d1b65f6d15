"""The verdict on one engine's weights, from what it scored and what the learner expects (design §7). Pure.

A version label is only what somebody declared, and a checksum says what was read, not what is computed with. So the
engine's log-probabilities decide wherever two versions can be told apart by them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spade_contracts.statuses import ProofResult
from spade_trainer.weights.probe import Expected, distance

TOLERANCE = 3.0
"""Times the noise: an engine further than this from the new version does not compute with it."""
MARGIN = 1.0
"""Times the noise: an engine that is nearer to one version than to the other by so much computes with that one. An
engine's own noise would have to be the difference of the two versions, token by token, to feign that."""
DISTINCT = 5.0
"""Times the noise: the learner's own gap between two versions from which the engine must be nearer to the new one."""


@dataclass(frozen=True)
class Verdict:
    """What a proof says, and the figures behind it in words."""

    result: ProofResult
    detail: str


def judge_canary(scores: Sequence[float], expected: Expected) -> str:
    """Whether the engine computes with a tensor that was just changed: empty if so, else what is wrong."""
    to_canary, to_plain = distance(scores, expected.canary), distance(scores, expected.new)
    moved = distance(expected.canary, expected.new)
    figures = (
        f"canary: {to_canary:.4f} from the scaled model, {to_plain:.4f} from the unscaled, which differ by {moved:.4f}"
    )
    if moved <= DISTINCT * expected.noise:
        return f"{figures}; the change is too small to be seen in this model"
    if to_canary > TOLERANCE * expected.noise or to_canary >= to_plain:
        return f"{figures}; the engine does not compute with the tensor that was changed"
    return ""


def judge(scores: Sequence[float], expected: Expected, *, checksum_equal: bool, canary_passed: bool) -> Verdict:
    """The verdict on an engine after a load.

    scores: the engine's log-probabilities of the probe. checksum_equal: the tensors it read are the policy's.
    canary_passed: at this boot. VERIFIED: fits the new version, and is nearer to it than to the old by MARGIN.
    INDISTINGUISHABLE: fits the new version, and the two are too near to be told apart; checksum and canary decided.
    Else MISMATCH.
    """
    to_new = distance(scores, expected.new)
    wrong = ""
    if not checksum_equal:
        wrong = "the tensors that the engine read are not the policy's"
    elif not canary_passed:
        wrong = "the canary has not passed at this boot"
    elif to_new > TOLERANCE * expected.noise:
        wrong = (
            f"{to_new:.4f} nats a token from policy {expected.policy_version}, where the noise is {expected.noise:.4f}"
        )
    if wrong:
        return Verdict(ProofResult.MISMATCH, wrong)
    if expected.old is None:
        return Verdict(ProofResult.VERIFIED, f"{to_new:.4f} nats a token; there is no older policy to mistake it for")
    return _compare_with_old(
        to_new, distance(scores, expected.old), distance(expected.new, expected.old), expected.noise
    )


def _compare_with_old(to_new: float, to_old: float, gap: float, noise: float) -> Verdict:
    """The verdict on an engine that fits the new version. All in nats a token; gap: the learner's own."""
    figures = (
        f"{to_new:.4f} nats a token from the new policy, {to_old:.4f} from the old, which differ by {gap:.4f}, "
        f"noise {noise:.4f}"
    )
    if to_old - to_new >= MARGIN * noise:
        return Verdict(ProofResult.VERIFIED, figures)
    if gap > DISTINCT * noise or to_new - to_old >= MARGIN * noise:
        return Verdict(ProofResult.MISMATCH, f"{figures}; the engine does not compute with the new one")
    return Verdict(ProofResult.INDISTINGUISHABLE, f"{figures}; checksum and canary decide")
