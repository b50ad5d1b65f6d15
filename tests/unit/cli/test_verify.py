"""`spade verify` says one line a program, counts, and ends with the exit code that its help names."""

import asyncio
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.builders import method, run_manifest
from typer.testing import CliRunner

from spade_cli import verify
from spade_cli.main import app, main
from spade_contracts.config import SandboxLimits
from spade_contracts.config.environments import Domain
from spade_contracts.errors import InvalidInput
from spade_contracts.verdicts import Reason, Stage, Verdict, accepted, rejected
from spade_sandbox.local import Backend, Judged

GOOD = accepted()
BAD = rejected(Stage.CONTROLS, Reason.WINS_BY_NULL, "the empty action wins")
UNJUDGED = rejected(Stage.CONTRACT, Reason.INFRASTRUCTURE, "sandboxes failed 3 times")


def judged(verdict: Verdict, path: str = "a.py") -> Judged:
    return Judged(path, Domain.GAMES, SandboxLimits(), verdict)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([GOOD, GOOD], verify.ALL_ACCEPTED),
        ([GOOD, BAD], verify.REJECTED),
        ([UNJUDGED, GOOD], verify.UNJUDGED),
        ([UNJUDGED, BAD], verify.UNJUDGED),
    ],
)
def test_exit_code_says_the_worst_that_happened(verdicts: list[Verdict], code: int) -> None:
    assert verify.exit_code([judged(verdict) for verdict in verdicts]) == code


def test_line_names_program_stage_reason_and_message() -> None:
    assert verify.line(judged(BAD)) == "rejected    a.py: controls/wins_by_null: the empty action wins"
    assert verify.line(judged(GOOD)) == "accepted    a.py"


def test_program_that_was_not_judged_is_not_called_rejected() -> None:
    assert verify.line(judged(UNJUDGED)).startswith("NOT JUDGED  a.py")
    text = verify.summary([judged(GOOD), judged(BAD), judged(UNJUDGED)], Backend.RUNSC)
    assert text == (
        "3 programs in gVisor (runsc): 1 accepted, 1 rejected (controls/wins_by_null 1), "
        "1 NOT JUDGED because sandboxes failed."
    )


def test_summary_counts_accepted_programs_that_were_judged_without_a_solution() -> None:
    blind = [accepted({"solution_form": form}) for form in ("none", "unreadable", "exact")]
    text = verify.summary([judged(verdict) for verdict in (*blind, BAD)], Backend.RUNSC)
    assert "3 accepted (2 without a solution that can be replayed), 1 rejected" in text


def test_summary_says_when_there_was_no_gvisor() -> None:
    assert "WITHOUT gVisor" in verify.summary([judged(GOOD)], Backend.CELLS)


@given(st.text())
def test_nothing_that_a_program_says_can_steer_a_terminal_or_break_a_line(text: str) -> None:
    shown = verify.line(judged(rejected(Stage.CONTRACT, Reason.CRASH, text), f"{text}.py"))
    assert shown.isprintable()
    shown.encode()


@pytest.mark.parametrize(
    ("word", "domain"), [("games", Domain.GAMES), ("tools", Domain.TOOLS), ("Tools", Domain.TOOLS)]
)
def test_domain_is_a_word(word: str, domain: Domain) -> None:
    assert verify.domain_of(word) is domain


def test_settings_file_has_the_fields_of_a_run(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("verification: {maxSteps: 77}\nlimits: {stepSeconds: 2.5}\n")
    settings = verify.read_settings(str(file))
    assert (settings.verification.max_steps, settings.limits.step_seconds) == (77, 2.5)
    assert verify.read_settings(None) == verify.VerifyFile()


@pytest.mark.parametrize("render", [False, True])
def test_settings_of_a_run_are_those_it_verifies_with(tmp_path: Path, render: bool) -> None:
    settings = method(environments={"verification": {"max_steps": 77}}, limits={"step_seconds": 2.5})
    file = tmp_path / "settings"
    rendered = yaml.safe_dump(settings.model_dump(mode="json", by_alias=True))  # as `spade check --render` does
    file.write_text(rendered if render else run_manifest(settings).model_dump_json())
    found = verify.read_settings(str(file))
    assert (found.verification, found.limits) == (settings.environments.verification, settings.limits)
    assert found.verification.max_steps == 77


@pytest.mark.parametrize(
    ("text", "says"),
    [("limits: {stepSecond: 1}", "limits.stepSecond"), ("a: [", "YAML"), ("- 1", "is a list, not a map of fields")],
)
def test_wrong_settings_file_is_refused_with_its_path(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=says):
        verify.read_settings(str(file))


def exit_code_of(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """What the shell sees."""
    monkeypatch.setattr("sys.argv", ["spade", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code))


@pytest.mark.parametrize(
    "words",
    [
        ("a.py",),
        ("a.py", "--domain", "chess"),
        ("--domain", "games"),
        (".", "--domain", "games"),
        ("a.py", "--domain", "games", "--jobs", "0"),
        ("a.py", "--domain", "games", "--backend", "podman"),
        ("a.py", "--domain", "games", "--out", "missing/x.parquet"),
        ("a.py", "--domain", "games", "--settings", "missing.yaml"),
        ("a.py", "--domain", "games", "--wrong"),
    ],
)
def test_wrong_usage_ends_with_2_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code_of(monkeypatch, "verify", *words) == verify.USAGE


def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without docker and runsc."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SPADE_RUNSC", str(tmp_path / "missing"))


@pytest.mark.parametrize("words", [(), ("--backend", "runsc"), ("--backend", "docker"), ("--json",)])
def test_machine_without_a_back_end_ends_with_3_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    nowhere(tmp_path, monkeypatch)
    program = tmp_path / "a.py"
    program.write_text("x = 1\n")
    assert exit_code_of(monkeypatch, "verify", str(program), "--domain", "games", *words) == verify.UNJUDGED
    out, err = capfd.readouterr()
    assert "1 of 1 programs were not judged" in err
    assert "runsc" in err or "docker" in err
    assert "rejected" not in out + err
    assert json.loads(out) == [] if "--json" in words else out == ""


def test_cells_are_never_taken_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    nowhere(tmp_path, monkeypatch)
    (tmp_path / "a.py").write_text("x = 1\n")
    assert exit_code_of(monkeypatch, "verify", str(tmp_path), "--domain", "games") == verify.UNJUDGED
    assert "cells" in capfd.readouterr().err  # named as a way out, for those who trust their programs


def test_help_names_the_exit_codes() -> None:
    text = CliRunner().invoke(app, ["verify", "--help"]).output
    for code in ("0: all accepted", "1: some rejected", "2: wrong usage", "3: no back-end works"):
        assert code in " ".join(text.split())


def test_verdicts_so_far_are_written_when_the_infrastructure_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere(tmp_path, monkeypatch)
    (tmp_path / "a.py").write_text("x = 1\n")
    out = tmp_path / "verdicts.parquet"
    wanted = verify.Wanted((str(tmp_path),), Domain.GAMES, False, 1, None, out, verify.VerifyFile())
    said: list[str] = []
    assert asyncio.run(verify.verify(wanted, said.append, said.append)) == verify.UNJUDGED
    assert out.exists()
