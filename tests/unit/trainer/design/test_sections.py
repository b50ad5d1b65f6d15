"""Template files fall into named sections; nothing outside of one is lost silently."""

import pytest

from spade_trainer.design.sections import fill, parse_sections


def test_sections_keep_their_inner_lines():
    assert parse_sections("=== a\none\n\ntwo\n=== b\n\nthree\n") == {"a": "one\n\ntwo", "b": "three"}


def test_text_before_the_first_section_is_refused():
    with pytest.raises(ValueError, match="before the first"):
        parse_sections("lost\n=== a\n")


def test_section_named_twice_is_refused():
    with pytest.raises(ValueError, match="twice"):
        parse_sections("=== a\n=== a\n")


def test_values_are_not_scanned_for_placeholders():
    assert fill("$a", {"a": "$b"}) == "$b"


def test_placeholder_without_value_is_refused():
    with pytest.raises(KeyError):
        fill("$a", {})
