"""What the learner does next. Pure: the whole order of its life is in this one function."""

from enum import StrEnum

from spade_contracts.statuses import LearnerTarget


class Work(StrEnum):
    """One piece of work of the whole group."""

    NOTHING = "nothing"
    STEP = "step"
    """The optimiser step on the rollout that was played with the present version."""
    PUBLISH = "publish"
    """Export the present version and have it proven."""
    CHECKPOINT = "checkpoint"


def next_work(
    version: int,
    target: LearnerTarget | None,
    *,
    rollout_finished: bool,
    published: bool,
    checkpoint_due: bool,
    colocated: bool = False,
) -> Work:
    """The next piece of work.

    version: what the weights are. rollout_finished: whether the rollout that they played is complete in storage.
    published: whether this version has been exported and handed to the proof. checkpoint_due: whether the schedule
    wants a checkpoint of this version and there is none.

    A checkpoint comes after the proof of the target has begun, so that engines do not wait for it, but before the next
    step, so that none is skipped. colocated: proofs need the devices, so a checkpoint comes before them instead.
    """
    if colocated and target is not None and checkpoint_due:
        return Work.CHECKPOINT
    if target is not None and version == target.policy_version and not published:
        return Work.PUBLISH
    if checkpoint_due:
        return Work.CHECKPOINT
    if target is not None and version < target.policy_version and rollout_finished:
        return Work.STEP
    return Work.NOTHING


def checkpoint_due(version: int, every: int, target: LearnerTarget | None, *, exists: bool) -> bool:
    """Whether a version is to be checkpointed: every so many rollouts, and the last of the run; never policy 0."""
    last = target is not None and version == target.last_policy_version
    return version > 0 and not exists and (version % every == 0 or last)
