"""The page of differences is as generated, and nothing that differs is left without a name, a source and a test."""

from pathlib import Path

import pytest
from tools.generate_differences import (
    DEFECTS,
    FIXED,
    PAGE,
    MarkedTest,
    explained,
    marked_tests,
    named,
    page,
    switch_names,
)

ALL = marked_tests()


def test_the_page_is_as_generated() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(ALL)


@pytest.mark.parametrize("name", sorted(switch_names().values()))
def test_every_switch_has_a_test_that_shows_it(name: str) -> None:
    assert any(test.switch == name for test in ALL)


@pytest.mark.parametrize("name", sorted(switch_names().values()))
def test_a_switch_without_a_test_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"switch {name} has no test"):
        page(tuple(test for test in ALL if test.switch != name))


def test_a_mark_that_names_no_switch_is_refused() -> None:
    with pytest.raises(ValueError, match="boxedActoin is marked in a test but is no switch"):
        page((*ALL, MarkedTest("boxedActoin", "tests/x.py", "test_x")))


def test_every_known_defect_is_named_by_a_switch_or_mended_and_none_is_both() -> None:
    assert set(DEFECTS) <= explained()
    assert named() & set(FIXED) == set()


def test_marks_are_found_with_their_file_and_function(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    text = '@pytest.mark.switch("a", "b")\ndef test_one(): ...\n\n\n@pytest.mark.slow\nasync def test_two(): ...\n'
    (folder / "test_x.py").write_text(text)
    found = marked_tests(tmp_path / "tests")
    assert [(test.switch, test.file, test.name) for test in found] == [
        ("a", "tests/unit/test_x.py", "test_one"),
        ("b", "tests/unit/test_x.py", "test_one"),
    ]
