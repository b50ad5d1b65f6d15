"""What becomes of a pod that ended badly or does not start: one table, by role and cause.

Which cause it was is found in causes.py, what people are told in remedies.py; docs/failures.md shows the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from spade_contracts.labels import Role

PACE_SECONDS = 30.0
"""A learner group, or a worker Job, that was lost without being counted is replaced no sooner after it was made."""
LASTING_SECONDS = 600.0
"""A pod that has waited so long for a node or an image waits for somebody, and the message says so."""


class FailureCause(StrEnum):
    """Why a pod ended badly, or does not start. Of several pods of one group the earlier of this list is the cause:
    the others mostly ended because their peer was gone."""

    NEVER_AGAIN = "NeverAgain"
    """The process ended with exit code 2: a setting is wrong, and another try would only repeat it."""
    STORAGE_FULL = "StorageFull"
    """It found no room in run storage."""
    OUT_OF_MEMORY = "OutOfMemory"
    """The kernel killed it at its memory limit."""
    PREEMPTED = "Preempted"
    """It made room for a pod of higher priority."""
    DRAINED = "Drained"
    """Somebody asked for its eviction, as a drain of its node does."""
    NODE_LOST = "NodeLost"
    """Its node shut down, fell silent, went away or was tainted NoExecute."""
    NODE_REFUSED = "NodeRefused"
    """The node that it was given to would not have it: no room, no device, other labels."""
    EVICTED_FOR_MEMORY = "EvictedForMemory"
    """Its node ran low on memory, and the kubelet chose it."""
    EVICTED_FOR_DISK = "EvictedForDisk"
    """Its node ran low on disk, or it wrote more than a volume of its own may hold."""
    EVICTED = "Evicted"
    """The kubelet evicted it for something else."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """The pod or its Job had a deadline that passed."""
    PROBE_FAILED = "ProbeFailed"
    """The kubelet stopped its container, as it does when a liveness or startup probe fails."""
    INVALID_CONFIGURATION = "InvalidConfiguration"
    """The kubelet cannot make its container from what the pod says."""
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    """The node cannot get the image."""
    UNSCHEDULABLE = "Unschedulable"
    """No node takes it."""
    EXIT_CODE = "ExitCode"
    """Its process ended by itself, or by a signal, with another exit code."""
    UNKNOWN = "Unknown"
    """It is gone or has failed, and nothing says why; somebody may have deleted it."""


class Answer(StrEnum):
    """What is done."""

    REPLACE = "replace"
    """Its controller makes another, or starts the container again."""
    REPLACE_GROUP = "replace the group"
    """All pods go, and the group starts again under the next attempt's name."""
    WAIT = "wait and say"
    """Nothing is given up: the condition of the role says what is awaited."""
    FAIL = "fail"
    """The run, or the unit of work, fails at once."""


@dataclass(frozen=True)
class Rule:
    """One cell of the table."""

    answer: Answer
    counts: bool = True
    """Whether a pod that ended so counts against the role's budget."""
    fails_when_repeated: bool = False
    """Fails at the second time in a row, if no rollout was finished and the memory limit was the same."""


BUDGETS: Mapping[Role, str] = {
    Role.PREPARE: "3 tries, then not accepted",
    Role.SANDBOX: "`sandbox.restarts`",
    Role.BEACON: "none",
    Role.ENGINE: "`engine.restarts`",
    Role.LEARNER: "`learner.restarts`",
    Role.WORKER: "`workers.restarts` in a Job, 3 Jobs in all",
}
"""What bounds the losses of a role."""

_COUNTED = Rule(Answer.REPLACE)
_NOT_COUNTED = Rule(Answer.REPLACE, counts=False)
_ANY_ROLE: Mapping[FailureCause, Rule] = {
    FailureCause.NEVER_AGAIN: Rule(Answer.FAIL),
    FailureCause.STORAGE_FULL: _NOT_COUNTED,
    FailureCause.OUT_OF_MEMORY: _COUNTED,
    FailureCause.PREEMPTED: _NOT_COUNTED,
    FailureCause.DRAINED: _NOT_COUNTED,
    FailureCause.NODE_LOST: _NOT_COUNTED,
    FailureCause.NODE_REFUSED: _COUNTED,
    FailureCause.EVICTED_FOR_MEMORY: _COUNTED,
    FailureCause.EVICTED_FOR_DISK: _COUNTED,
    FailureCause.EVICTED: _COUNTED,
    FailureCause.DEADLINE_EXCEEDED: _COUNTED,
    FailureCause.PROBE_FAILED: _COUNTED,
    FailureCause.INVALID_CONFIGURATION: Rule(Answer.WAIT),
    FailureCause.IMAGE_UNAVAILABLE: Rule(Answer.WAIT),
    FailureCause.UNSCHEDULABLE: Rule(Answer.WAIT),
    FailureCause.EXIT_CODE: _COUNTED,
    FailureCause.UNKNOWN: _COUNTED,
}
_OWN: Mapping[tuple[Role, FailureCause], Rule] = {
    # The same rollout fills the same memory, and each try costs a start.
    (Role.LEARNER, FailureCause.OUT_OF_MEMORY): Rule(Answer.REPLACE_GROUP, fails_when_repeated=True),
    # A node that comes back refuses pods until its devices are there. Only the operator replaces a group, so it paces.
    (Role.LEARNER, FailureCause.NODE_REFUSED): Rule(Answer.REPLACE_GROUP, counts=False),
}


def rule(role: Role, cause: FailureCause) -> Rule:
    """What is done when a pod of that role ended, or does not start, for that cause."""
    own = _OWN.get((role, cause))
    if own is not None:
        return own
    found = _ANY_ROLE[cause]
    if role is Role.BEACON:
        # It has no budget: its Deployment starts it again, later each time, and the probe waits for it.
        again = Answer.REPLACE if found.answer is Answer.FAIL else found.answer
        return replace(found, answer=again, counts=False)
    if role is Role.LEARNER and found.answer is Answer.REPLACE:
        return replace(found, answer=Answer.REPLACE_GROUP)
    return found


def weight(cause: FailureCause) -> int:
    """Place in the list of causes: the lowest of a group is its cause."""
    return list(FailureCause).index(cause)
