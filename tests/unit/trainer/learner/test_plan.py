"""The learner proves before it checkpoints, checkpoints before it steps, and steps only on what is finished."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.statuses import LearnerTarget
from spade_trainer.learner.plan import Work, checkpoint_due, next_work


def target(version: int, last: int | None = None) -> LearnerTarget:
    return LearnerTarget(policy_version=version, engines=(), last_policy_version=last)


def work(
    version: int, wanted: LearnerTarget | None, *, finished: bool = True, published: bool = False, due: bool = False
) -> Work:
    return next_work(version, wanted, rollout_finished=finished, published=published, checkpoint_due=due)


def test_without_a_target_it_waits() -> None:
    assert work(3, None) is Work.NOTHING


def test_it_steps_towards_the_target_on_a_finished_rollout_only() -> None:
    assert work(3, target(5)) is Work.STEP
    assert work(3, target(5), finished=False) is Work.NOTHING


def test_at_the_target_it_publishes_once_then_checkpoints_then_waits() -> None:
    assert work(5, target(5), due=True) is Work.PUBLISH
    assert work(5, target(5), published=True, due=True) is Work.CHECKPOINT
    assert work(5, target(5), published=True) is Work.NOTHING


def test_on_shared_devices_a_checkpoint_comes_before_the_engines_wake() -> None:
    due = {"rollout_finished": True, "published": False, "checkpoint_due": True}
    assert next_work(5, target(5), **due, colocated=True) is Work.CHECKPOINT
    assert next_work(5, target(5), **due, colocated=False) is Work.PUBLISH
    assert next_work(5, None, **due, colocated=True) is Work.CHECKPOINT


def test_a_checkpoint_that_is_due_is_taken_before_the_next_step() -> None:
    assert work(4, target(6), due=True) is Work.CHECKPOINT


def test_a_target_behind_the_weights_is_left_alone() -> None:
    assert work(5, target(3)) is Work.NOTHING


@given(st.integers(0, 50), st.integers(0, 50), st.booleans(), st.booleans(), st.booleans())
def test_it_never_steps_past_the_target(version: int, wanted: int, finished: bool, published: bool, due: bool) -> None:
    chosen = work(version, target(wanted), finished=finished, published=published, due=due)
    assert chosen is not Work.STEP or version < wanted


@pytest.mark.parametrize(
    ("version", "last", "exists", "due"),
    [
        (0, None, False, False),
        (2, None, False, True),
        (3, None, False, False),
        (3, 3, False, True),
        (2, None, True, False),
    ],
)
def test_checkpoints_follow_the_schedule_and_end_the_run(
    version: int, last: int | None, exists: bool, due: bool
) -> None:
    assert checkpoint_due(version, 2, target(9, last), exists=exists) is due
