"""Every role has an answer to every cause; none of them can be tried for ever, and the documented table is this one."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.labels import Role
from spade_operator.children.prepare import BACKOFF_LIMIT
from spade_operator.reconcile.failure_rules import (
    BUDGETS,
    LASTING_SECONDS,
    PACE_SECONDS,
    Answer,
    FailureCause,
    Rule,
    rule,
    weight,
)
from spade_operator.reconcile.work import MAX_FAILED_JOBS

PAGE = Path(__file__).parents[3] / "docs/failures.md"
roles, causes = st.sampled_from(Role), st.sampled_from(FailureCause)
INFRASTRUCTURE = {FailureCause.PREEMPTED, FailureCause.DRAINED, FailureCause.NODE_LOST, FailureCause.STORAGE_FULL}


def cell(found: Rule) -> str:
    """A rule in the words of the page."""
    words = [str(found.answer)]
    if not found.counts:
        words.append("not counted")
    if found.fails_when_repeated:
        words.append("fail the second time")
    return ", ".join(words)


def documented() -> dict[str, list[str]]:
    """Rows of the page's table: cause → cells."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text(), re.M)
    return {cause: cells.split(" | ") for cause, cells in rows if cells.count(" | ") == len(Role) - 1}


def test_page_shows_the_table_as_it_is() -> None:
    header = re.search(r"^\| cause \| (.*) \|$", PAGE.read_text(), re.M)
    assert header is not None
    order = [Role(name) for name in header[1].split(" | ")]
    assert set(order) == set(Role)
    assert documented() == {str(cause): [cell(rule(role, cause)) for role in order] for cause in FailureCause}


def test_page_has_an_entry_for_each_cause_and_the_present_figures() -> None:
    text = PAGE.read_text()
    for cause in FailureCause:
        assert f"**`{cause}`**" in text
    for role, words in BUDGETS.items():
        assert f"| {role} | {words} |" in text
    assert f"{LASTING_SECONDS / 60:.0f} minutes" in text
    assert f"{PACE_SECONDS:.0f} s" in text
    assert BUDGETS[Role.PREPARE].startswith(f"{BACKOFF_LIMIT + 1} tries")
    assert f"{MAX_FAILED_JOBS} Jobs in all" in BUDGETS[Role.WORKER]


@given(roles, causes)
def test_only_what_the_infrastructure_did_is_not_counted(role: Role, cause: FailureCause) -> None:
    found = rule(role, cause)
    expected = cause not in INFRASTRUCTURE and role is not Role.BEACON
    if (role, cause) != (Role.LEARNER, FailureCause.NODE_REFUSED):
        assert found.counts == expected


@given(causes)
def test_learner_is_replaced_as_a_group_and_nobody_else_is(cause: FailureCause) -> None:
    assert rule(Role.LEARNER, cause).answer is not Answer.REPLACE
    assert all(rule(role, cause).answer is not Answer.REPLACE_GROUP for role in Role if role is not Role.LEARNER)


@given(roles)
def test_what_waits_for_somebody_spends_nothing_by_waiting(role: Role) -> None:
    for cause in (FailureCause.UNSCHEDULABLE, FailureCause.IMAGE_UNAVAILABLE, FailureCause.INVALID_CONFIGURATION):
        assert rule(role, cause).answer is Answer.WAIT


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.BEACON])
def test_what_another_try_would_only_repeat_fails_at_once(role: Role) -> None:
    assert rule(role, FailureCause.NEVER_AGAIN).answer is Answer.FAIL


def test_cause_of_a_group_is_the_one_that_the_others_ended_of() -> None:
    order = ("NeverAgain", "OutOfMemory", "NodeLost", "ExitCode", "Unknown")
    weights = [weight(FailureCause(name)) for name in order]
    assert weights == sorted(set(weights))
