"""A message and its remedy read as two sentences."""

import pytest

from spade_contracts.errors import InvalidInput, SpadeError


@pytest.mark.parametrize("message", ["It broke", "It broke."])
def test_remedy_is_a_sentence_of_its_own(message: str) -> None:
    assert str(SpadeError(message, remedy="Mend it.")) == "It broke. Mend it."


def test_message_without_a_remedy_stays_as_it_is() -> None:
    assert str(InvalidInput("spec.seed", "is no number")) == "spec.seed: is no number"
