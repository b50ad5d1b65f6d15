"""A program is found in a designer's answer, repaired only where that is safe, and held to the static rules."""

import ast
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify.parse import check_source, parse_answer

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"
MINIMAL = (
    "class AEnv:\n    def reset(self, seed=None):\n        return 'x', {}\n    def step(self, action):\n        pass\n"
)
LIMIT = 50_000


def fenced(source: str) -> str:
    """An answer with one python block."""
    return f"Here is a game.\n```python\n{source}```\nHave fun."


def reason(parsed: str | Verdict) -> Reason | None:
    """Why it was rejected; a failure of the test if it was not."""
    assert isinstance(parsed, Verdict), parsed
    assert parsed.stage is Stage.PARSE
    return parsed.reason


def with_step(line: str) -> str:
    """The minimal program with one line in `step`."""
    return MINIMAL.replace("        pass\n", f"        {line}\n")


def test_first_python_block_is_the_program() -> None:
    other = MINIMAL.replace("AEnv", "BEnv")
    assert parse_answer(fenced(MINIMAL) + fenced(other), LIMIT) == MINIMAL


def test_answer_without_any_fence_is_taken_whole() -> None:
    assert parse_answer(MINIMAL, LIMIT) == MINIMAL


def test_block_without_a_closing_fence_is_a_truncated_answer() -> None:
    assert reason(parse_answer(f"```python\n{MINIMAL}", LIMIT)) is Reason.TRUNCATED


@given(cut=st.integers(min_value=12, max_value=len(MINIMAL) + 10))
def test_answer_cut_anywhere_in_its_block_is_truncated(cut: int) -> None:
    assert reason(parse_answer(f"```python\n{MINIMAL}"[:cut], LIMIT)) is Reason.TRUNCATED


def test_fence_within_a_string_of_the_program_does_not_end_it_unless_it_begins_a_line() -> None:
    source = with_step('return "```", 0.0, False, False, {}')
    assert parse_answer(fenced(source), LIMIT) == source


@pytest.mark.parametrize("answer", ["", "  \n ", "```\nprint()\n```", "```json\n{}\n```"])
def test_answer_without_python_is_empty(answer: str) -> None:
    assert reason(parse_answer(answer, LIMIT)) is Reason.EMPTY


def test_length_is_counted_in_bytes() -> None:
    source = MINIMAL + "# " + "é" * 100 + "\n"
    assert check_source(source, len(source.encode())) == source
    assert reason(check_source(source, len(source.encode()) - 1)) is Reason.TOO_LONG


@pytest.mark.parametrize(
    ("written", "repaired"),
    [
        (r'return f"Use \\boxed{} now", {}', r'return f"Use \\boxed{{}} now", {}'),
        (r"return f'Say \\boxed{your move}.'", r"return f'Say \\boxed{{your move}}.'"),
        (
            r'return f"{action} or {go left} of {len(action):>3}"',
            r'return f"{action} or {{go left}} of {len(action):>3}"',
        ),
        (r'x = {"a": 1}; return f"{b c}", {"d": 2}', r'x = {"a": 1}; return f"{{b c}}", {"d": 2}'),
    ],
)
def test_braces_of_an_f_string_are_doubled_where_they_hold_no_expression(written: str, repaired: str) -> None:
    assert check_source(with_step(written), LIMIT) == with_step(repaired)


def test_braces_in_a_line_of_a_long_f_string_are_doubled() -> None:
    written = with_step('return f"""\n    {go left}\n    {action}\n    """')
    assert check_source(written, LIMIT) == written.replace("{go left}", "{{go left}}")


def test_several_broken_lines_are_repaired_one_after_the_other() -> None:
    lines = "\n        ".join(f'a{i} = f"{{x y}}"' for i in range(20))
    assert check_source(with_step(lines), LIMIT) == with_step(lines.replace("{x y}", "{{x y}}"))
    more = "\n        ".join(f'a{i} = f"{{x y}}"' for i in range(21))
    assert reason(check_source(with_step(more), LIMIT)) is Reason.SYNTAX


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_no_more_lines_are_repaired_than_the_settings_allow(rounds: int) -> None:
    def broken(lines: int) -> str:
        return with_step("\n        ".join(f'a{i} = f"{{x y}}"' for i in range(lines)))

    assert reason(check_source(broken(rounds + 1), LIMIT, rounds)) is Reason.SYNTAX
    assert reason(parse_answer(fenced(broken(rounds + 1)), LIMIT, rounds)) is Reason.SYNTAX
    if rounds:
        assert check_source(broken(rounds), LIMIT, rounds) == broken(rounds).replace("{x y}", "{{x y}}")


def test_program_that_parses_is_not_touched() -> None:
    for path in (PROGRAMS / "good").glob("*.py"):
        assert check_source(path.read_text(), LIMIT) == path.read_text()


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "import os.path",
        "from subprocess import run",
        "from . import x",
        "import random, sys",
        "import ctypes",
    ],
)
def test_imports_beyond_the_allowed_libraries_are_rejected_wherever_they_stand(line: str) -> None:
    assert reason(check_source(with_step(line), LIMIT)) is Reason.FORBIDDEN_IMPORT


@pytest.mark.parametrize("line", ["import math", "from collections.abc import Mapping", "import numpy.linalg as la"])
def test_allowed_libraries_may_be_imported(line: str) -> None:
    assert check_source(with_step(line), LIMIT) == with_step(line)


@pytest.mark.parametrize(
    "line", ["eval(action)", "f = exec", "().__class__.__subclasses__()", "__builtins__['x']", "open('x')", "input()"]
)
def test_names_that_lead_out_of_the_program_are_rejected(line: str) -> None:
    assert reason(check_source(with_step(line), LIMIT)) is Reason.FORBIDDEN_NAME


@pytest.mark.parametrize("name", ["Env", "ToolUseBaseEnv", "Environment", "envy"])
def test_class_must_end_in_env_and_be_none_of_the_base_names(name: str) -> None:
    assert reason(check_source(MINIMAL.replace("AEnv", name), LIMIT)) is Reason.NO_ENVIRONMENT_CLASS


def test_class_without_step_is_no_environment_unless_it_may_inherit_it() -> None:
    alone = "class AEnv:\n    def reset(self):\n        pass\n"
    assert reason(check_source(alone, LIMIT)) is Reason.NO_ENVIRONMENT_CLASS
    inherits = "class Base:\n    pass\nclass AEnv(Base):\n    pass\n"
    assert check_source(inherits, LIMIT) == inherits


@pytest.mark.parametrize(
    "source", ["(" * 10_000, "-" * 20_000 + "1", "x" + "[0]" * 20_000, "\0", "\ud800", "f'{" * 2_000]
)
def test_text_made_to_break_a_parser_is_rejected_as_syntax(source: str) -> None:
    assert reason(check_source(source, LIMIT * 10)) in (Reason.SYNTAX, Reason.NO_ENVIRONMENT_CLASS)


@given(st.text())
@example('f"{"')
@example("f'{!r}'")
@example("f'''{\n'''")
def test_any_text_ends_in_a_program_that_parses_or_in_a_rejection(text: str) -> None:
    parsed = parse_answer(text, LIMIT)
    if isinstance(parsed, str):
        ast.parse(parsed)


def test_bytes_of_a_file_are_read_as_utf8_with_or_without_a_mark() -> None:
    source = MINIMAL + "# é\n"
    assert check_source(source.encode(), LIMIT) == source
    assert check_source(b"\xef\xbb\xbf" + source.encode(), LIMIT) == source


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", Reason.EMPTY),
        (b" \n", Reason.EMPTY),
        (b"\xff\xfe\x00\x01", Reason.ENCODING),
        (MINIMAL.encode("utf-16"), Reason.ENCODING),
        (b"x" * 10 * 2**20, Reason.TOO_LONG),
        (b"\xff" * 10 * 2**20, Reason.TOO_LONG),
        (b"\x7fELF\x02\x01\x01\x00\x00", Reason.SYNTAX),
        (b"#!/bin/sh\necho hello there\n", Reason.SYNTAX),
        (b"(" * 40_000, Reason.SYNTAX),
        (b"x = 1\n", Reason.NO_ENVIRONMENT_CLASS),
    ],
)
def test_what_is_no_program_gets_a_verdict(content: bytes, expected: Reason) -> None:
    assert reason(check_source(content, LIMIT)) is expected


@given(content=st.binary(max_size=400))
def test_any_bytes_get_a_verdict(content: bytes) -> None:
    parsed = check_source(content, LIMIT)
    assert isinstance(parsed, str | Verdict)
