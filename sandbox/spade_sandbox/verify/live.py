"""Live detectors: episodes in play that show a verifier wrong (design §10).

The program's own word is all there is to read, so a detector looks for episodes that contradict themselves: full reward
next to an error. Player mistakes are no errors: a game may call a command invalid and still be won later.
"""

import re
from collections.abc import Sequence

from spade_contracts.errors import EnvironmentFault
from spade_contracts.verdicts import VerifierFailure
from spade_sandbox.client import StepResult
from spade_sandbox.verify.trial import wins

_INFO_KEYS = ("error", "exception", "traceback")
_TRACE = "Traceback (most recent call last)"
_COMPLAINT = re.compile(r"^\W*(error|exception|invalid)\b", re.IGNORECASE)


def verifier_failure(steps: Sequence[StepResult], fault: EnvironmentFault | None = None) -> VerifierFailure | None:
    """What an episode shows about its program's verifier.

    `steps`: all answered steps, in order. `fault`: what ended the episode, if the program did. A fault of the program
    is a failure by itself; so is an episode won with an error: a Python trace or an error flag anywhere in it, or a
    winning step that itself complains. None otherwise.
    """
    if fault is not None:
        return VerifierFailure(fault.kind)
    if not steps or not wins(steps[-1]):
        return None
    if any(_holds_error(step) for step in steps) or _COMPLAINT.match(steps[-1].observation):
        return VerifierFailure.SUCCESS_WITH_ERROR
    return None


def _holds_error(step: StepResult) -> bool:
    return _TRACE in step.observation or any(step.info.get(key) for key in _INFO_KEYS)
