"""An answer is the same if its text is; a fault is the same if its kind is."""

from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.verdicts import Exchange, Operation
from spade_sandbox.local.replaying import NOT_REACHED, Replayed, changed_fields, differs


def replayed(recorded: str, now: str) -> Replayed:
    return Replayed(Exchange(op=Operation.STEP, action="a", answer=recorded), now)


@given(st.text(max_size=50))
def test_every_answer_is_the_same_as_itself(answer: str) -> None:
    assert replayed(answer, answer).same


def test_a_changed_answer_differs_in_the_parts_that_changed() -> None:
    one = replayed('{"observation":"a","reward":0.0}', '{"observation":"b","reward":0.0,"info":{}}')
    assert not one.same
    assert changed_fields(one) == ("info", "observation")


def test_faults_are_compared_by_kind() -> None:
    assert replayed("fault timeout: step took longer than 5.0 s", "fault timeout: step took longer than 1.0 s").same
    assert not replayed("fault timeout: slow", "fault memory: fat").same
    assert not replayed('{"text":"x"}', "fault timeout: slow").same


def test_an_operation_that_was_not_reached_differs() -> None:
    assert not replayed('{"text":"x"}', NOT_REACHED).same
    assert changed_fields(replayed('{"text":"x"}', NOT_REACHED)) == ()


def test_one_differing_answer_of_one_session_is_a_difference() -> None:
    same, other = replayed("[]", "[]"), replayed("[]", "[1]")
    assert not differs([[same], [same, same]])
    assert differs([[same], [same, other]])
