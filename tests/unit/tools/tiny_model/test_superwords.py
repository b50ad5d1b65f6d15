"""Superwords are frequent phrases of one line that never cut a word or a turn."""

import re

from tools.tiny_model.conversations import conversations
from tools.tiny_model.superwords import MAX_CHARACTERS, find_superwords
from tools.tiny_model.tokenizer import pieces

TEXTS = [message["content"] for row in conversations(11, 150, 10, 150) for message in row.messages]
FOUND = find_superwords(TEXTS, pieces, least_count=12, most=100)


def test_each_is_frequent_and_short():
    assert FOUND
    for text in FOUND:
        assert sum(whole.count(text) for whole in TEXTS) >= 12
        assert len(text.strip()) <= MAX_CHARACTERS
        assert len(pieces(text)) > 1


def test_none_begins_or_ends_inside_a_word():
    assert not [text for text in FOUND if text[0].isalnum() or text[-1].isalnum()]


def test_a_line_break_stands_only_before_an_indented_line():
    assert not [text for text in FOUND if "\n" in text and not re.match(r"\n+ ", text)]
    assert not [text for text in FOUND if "\n" in text.strip()]


def test_most_bounds_their_number():
    assert find_superwords(TEXTS, pieces, least_count=12, most=5) == FOUND[:5]


def test_unlikely_continuations_are_not_joined():
    rows = [". 1, ", ". 2, ", "1 2 ", "2 1 "] * 10
    assert not [text for text in find_superwords(rows, list, least_count=5, most=10) if re.search(r"\d", text)]
