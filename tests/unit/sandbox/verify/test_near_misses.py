"""Near misses change one part of an answer, or the order of its inner parts, and keep its form."""

from spade_sandbox.verify.near_misses import answers, exchanged, replaced, tried_places, turned


def test_what_differs_from_seed_to_seed_are_the_parts() -> None:
    found = answers([r"\boxed{dive 10 20 30}", r"\boxed{dive 11 20 33}"])
    assert [answer.parts for answer in found] == [("10", "30"), ("11", "33")]
    assert found[0].having(("1", "2")) == r"\boxed{dive 1 20 2}"


def test_a_single_word_is_taken_letter_by_letter() -> None:
    found = answers([r"\boxed{row ABCD}", r"\boxed{row BADC}"])
    assert found[0].parts == tuple("ABCD")
    assert found[0].having("DCBA") == r"\boxed{row DCBA}"


def test_actions_of_different_kinds_have_no_parts_in_common() -> None:
    assert answers([r"\boxed{go 1}", r"\boxed{go 1 2}"]) == ()
    assert answers([r"\boxed{abc}", r"\boxed{abcd}"]) == ()
    assert answers([r"\boxed{same}", r"\boxed{same}"]) == ()
    assert answers([r"\boxed{alone}"]) == ()


def test_part_is_replaced_by_two_values_of_other_seeds() -> None:
    found = answers([r"\boxed{at 1 5}", r"\boxed{at 2 6}", r"\boxed{at 3 7}", r"\boxed{at 4 8}"])
    assert replaced(found[0], found, 0) == [r"\boxed{at 2 5}", r"\boxed{at 3 5}"]


def test_number_with_one_other_value_gets_a_neighbour_and_a_word_is_left_alone() -> None:
    numbers = answers([r"\boxed{at 1 50}", r"\boxed{at 2 60}"])
    assert replaced(numbers[0], numbers, 1) == [r"\boxed{at 1 60}", r"\boxed{at 1 51}"]
    words = answers([r"\boxed{set on left}", r"\boxed{set off right}"])
    assert replaced(words[0], words, 0) == []


def test_inner_parts_are_turned_and_outer_ones_exchanged() -> None:
    own = answers([r"\boxed{ABCDE}", r"\boxed{EDCBA}"])[0]
    assert turned(own) == r"\boxed{ADCBE}"
    assert exchanged(own) == r"\boxed{EBCDA}"


def test_three_parts_have_no_inner_order() -> None:
    assert not turned(answers([r"\boxed{ABC}", r"\boxed{CBA}"])[0])
    assert not turned(answers([r"\boxed{ABBC}", r"\boxed{CAAB}"])[0])


def test_only_the_first_digit_of_a_number_is_beyond_every_tolerance() -> None:
    assert list(tried_places(answers([r"\boxed{4821}", r"\boxed{7730}"])[0])) == [0]
    assert list(tried_places(answers([r"\boxed{abcde}", r"\boxed{edabc}"])[0])) == [2, 0, 4]
