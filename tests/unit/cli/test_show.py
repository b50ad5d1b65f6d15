"""`spade show` reads what a run and `spade verify` write, and gives a record's program as it was judged or played."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.builders import design, method, run_manifest, trajectory, write_cycle, write_rollout
from tokenizers import Tokenizer
from typer.testing import CliRunner

from spade_cli.main import app
from spade_cli.show import Wanted, listed, show, shown
from spade_contracts.config import SandboxLimits
from spade_contracts.config.environments import Domain
from spade_contracts.errors import InvalidInput
from spade_contracts.verdicts import Exchange, Operation, Reason, Stage, Trace, accepted, rejected
from spade_sandbox.local import Judged, json_record, write_parquet
from spade_sandbox.verify.canaries import Canary, Sighting
from spade_trainer.store import layout, manifests
from spade_trainer.store.canaries import write_sightings
from spade_trainer.store.designs import Design, evidence_text, write_designs, write_verdicts
from spade_trainer.store.objects import Store, open_store
from spade_trainer.workers.model_source import resolve_model

TRACE = Trace(max_turns=3, exchanges=(Exchange(op=Operation.STEP, action="", answer='{"reward":1}'),))
NO = rejected(Stage.CONTROLS, Reason.WINS_BY_NULL, "the empty action wins", (TRACE,))
SOURCE = (Path(__file__).parents[2] / "data" / "programs" / "good" / "number_search.py").read_text()
WON, LOST, REFUSED = "class WonEnv: pass\n", "class LostEnv: pass\n", "class RefusedEnv: pass\n"


def refused(slot: int, program: str = REFUSED) -> Design:
    judged = replace(design(0, slot, "B", program), stage="controls", reason="wins_by_null", message=NO.message)
    return replace(judged, attempt=1, evidence=evidence_text((TRACE,)), hint=None, hint_tokens=0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a run after its first rollout, with one accepted environment topped up before the second."""
    root = tmp_path / "run"
    store = open_store(root.as_uri())
    manifests.write(store, manifests.run_path(), run_manifest(method(switches={"missing_programs": "ToppedUp"})))
    write_cycle(store, 0, [design(0, 0, "A", WON), design(0, 1, "B", LOST)])
    write_rollout(store, 0, 0, {"c0000-s000": [1.0, None], "c0000-s001": [0.0, 0.5]}, {"c0000-s000": [1.0]})
    return root


def store_of(root: Path) -> Store:
    return open_store(root.as_uri())


def said(path: Path, index: int | None = None, out: Path | None = None) -> str:
    lines: list[str] = []
    show(Wanted(str(path), index, out), lines.append)
    return "\n".join(lines)


def cells(path: Path) -> list[list[str]]:
    """The list of a file's records, cell by cell."""
    return [[cell for cell in line.split("  ") if cell.strip()] for line in said(path).splitlines()]


def written(path: Path, index: int | None, tmp_path: Path) -> str:
    out = tmp_path / "program.py"
    said(path, index, out)
    return out.read_text()


def test_episodes_are_listed_with_slot_outcome_and_reward(root: Path) -> None:
    head, first, second, hinted = cells(root / "rollouts/0000/episodes-s000-a00.parquet")
    assert [head[i].strip() for i in (0, 2, 5, 6)] == ["index", "slot", "outcome", "reward"]
    assert [first[i].strip() for i in (0, 1, 2, 4, 6)] == ["0", "c0000-s000", "0", "no", "1"]
    assert [second[i].strip() for i in (5, 6, 8)] == ["environment_fault", "masked", "crash/step"]
    assert hinted[4].strip() == "yes"


def test_episode_is_shown_turn_by_turn_and_without_its_tokens(root: Path) -> None:
    text = said(root / "rollouts/0000/episodes-s001-a00.parquet", 1)
    assert text.endswith(
        "opening:\n  Begin.\nturn 1, action:\n  move 1\nturn 1, reward 0.5:\n  answer 1",
    )
    assert "token_ids" not in text


def test_fault_of_an_episode_stands_where_its_answer_would(root: Path) -> None:
    text = said(root / "rollouts/0000/episodes-s000-a00.parquet", 1)
    assert text.endswith("turn 1, action:\n  move 1\nturn 1:\n  crash/step")


def test_program_of_an_episode_is_that_of_its_environment(root: Path, tmp_path: Path) -> None:
    assert written(root / "rollouts/0000/episodes-s001-a00.parquet", 0, tmp_path) == LOST


def test_environments_of_a_rollout_are_listed_with_their_rewards_and_programs(root: Path, tmp_path: Path) -> None:
    _, first, second = cells(root / "rollouts/0000/rollout.json")
    assert [cell.strip() for cell in first] == ["0", "c0000-s000", "0", "1", "1", "1", "1", "-", "no"]
    assert [cell.strip() for cell in second] == ["1", "c0000-s001", "1", "2", "0.25", "-", "0", "-", "no"]
    assert written(root / "rollouts/0000/rollout.json", 1, tmp_path) == LOST


def test_designs_are_listed_by_slot_and_attempt_with_their_verdicts(root: Path) -> None:
    write_designs(store_of(root), 0, 2, 0, [refused(2), replace(design(0, 2, "B"), attempt=2)])
    _, bad, good = cells(root / "cycles/0000/designs-s002-a00.parquet")
    assert [cell.strip() for cell in bad] == ["0", "2", "1", "B", "controls/wins_by_null", "the empty action wins"]
    assert [cell.strip() for cell in good] == ["1", "2", "2", "B", "accepted"]


def test_design_is_shown_with_hint_program_and_evidence(root: Path) -> None:
    write_designs(store_of(root), 0, 2, 0, [design(0, 2, "B"), refused(2)])
    good = said(root / "cycles/0000/designs-s002-a00.parquet", 0)
    assert "\nhint:\n  look left\nprogram:\n  class GameEnv: pass\n" in good
    bad = said(root / "cycles/0000/designs-s002-a00.parquet", 1)
    assert bad.endswith("session 1 of 1\n  step('')\n    {\"reward\":1}")


def test_answer_of_the_policy_is_spelled_by_the_runs_own_tokenizer(root: Path) -> None:
    model = resolve_model("package:tiny")
    policy = root / layout.policy_folder(0)
    policy.mkdir(parents=True)
    shutil.copy(model / "tokenizer.json", policy)
    answer = "I have no program."
    tokens = np.asarray([1, 2, *Tokenizer.from_file(str(model / "tokenizer.json")).encode(answer).ids], dtype=np.int32)
    drawn = replace(trajectory(0, tokens=len(tokens)), token_ids=tokens)
    write_designs(store_of(root), 0, 2, 0, [replace(refused(2, ""), trajectory=drawn)])
    text = said(root / "cycles/0000/designs-s002-a00.parquet", 0)
    assert f"\nanswer:\n  {answer}\n" in text
    assert "the record has no program" in text


def test_answer_of_an_endpoint_needs_no_tokenizer(root: Path) -> None:
    write_designs(store_of(root), 0, 2, 0, [replace(design(0, 2, "B"), answer=f"Here:\n{WON}", program=WON)])
    text = said(root / "cycles/0000/designs-s002-a00.parquet", 0)
    assert text.count(WON.strip()) == 1, "a program that stands in the answer is not repeated"


def test_verdicts_of_a_cycle_and_of_its_top_ups_find_their_programs(root: Path, tmp_path: Path) -> None:
    store = store_of(root)
    write_designs(store, 0, 2, 0, [refused(2)], rollout=1)
    name = write_verdicts(store, 0, [refused(2)])
    assert written(root / "cycles/0000" / name, None, tmp_path) == REFUSED


def test_canaries_are_listed_with_the_gates_errors_and_their_programs_as_judged(root: Path, tmp_path: Path) -> None:
    seen = [
        Sighting(Canary("crooked", Stage.ORDER, "class B: ..."), "class Bb: ...", accepted()),
        Sighting(Canary("honest", Stage.ACCEPTED, "class A: ..."), "class Aa: ...", NO),
    ]
    write_sightings(store_of(root), "cycles/0000", 0, seen)
    path = root / "cycles/0000/canaries-a00.parquet"
    _, crooked, honest = cells(path)
    assert [cell.strip() for cell in crooked] == ["0", "crooked", "order", "accepted", "FALSE ACCEPT"]
    assert [cell.strip() for cell in honest][4] == "false reject"
    assert written(path, 0, tmp_path) == "class Bb: ..."


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_what_spade_verify_wrote_is_shown_too(tmp_path: Path, suffix: str) -> None:
    program = tmp_path / "game.py"
    program.write_text(SOURCE)
    judged = Judged(str(program), Domain.GAMES, SandboxLimits(), NO, SOURCE, SOURCE)
    path = tmp_path / f"verdicts.{suffix}"
    if suffix == "json":
        path.write_text(json.dumps([json_record(judged)]))
    else:
        write_parquet(path, [judged])
    assert "controls/wins_by_null" in said(path)
    assert f"program:\n  {SOURCE.splitlines()[0]}\n" in said(path, 0)
    assert str(program) in said(path, 0)
    assert written(path, None, tmp_path) == SOURCE


def test_record_without_a_program_writes_no_file(root: Path, tmp_path: Path) -> None:
    write_designs(store_of(root), 0, 2, 0, [refused(2, "")])
    with pytest.raises(InvalidInput, match="has no program"):
        written(root / "cycles/0000/designs-s002-a00.parquet", 0, tmp_path)
    assert not (tmp_path / "program.py").exists()


def test_episodes_away_from_their_run_are_shown_but_their_program_is_not_found(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "episodes.parquet"
    shutil.copy(root / "rollouts/0000/episodes-s001-a00.parquet", path)
    assert "move 1" in said(path, 1)
    with pytest.raises(InvalidInput, match="run's storage"):
        written(path, 1, tmp_path)


@pytest.mark.parametrize("content", [[{"a": 1}], [{"stage": "x", "reason": "", "message": "", "program": "p"}, {}]])
def test_records_of_other_kinds_are_refused(tmp_path: Path, content: object) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidInput):
        said(path)


def test_command_ends_with_the_exit_codes_of_its_help(root: Path, tmp_path: Path) -> None:
    path, out = str(root / "rollouts/0000/rollout.json"), tmp_path / "program.py"
    assert CliRunner().invoke(app, ["show", path, "--index", "0", "--out", str(out)]).exit_code == 0
    assert out.read_text() == WON
    done = CliRunner().invoke(app, ["show", path, "--index", "7"])
    assert isinstance(done.exception, InvalidInput)  # main() ends with 2


NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
"""What a file may be called."""


@given(NAMES, st.text(max_size=200))
def test_no_text_of_a_model_or_a_program_moves_the_terminal(name: str, text: str) -> None:
    evidence = [{"max_turns": 1, "exchanges": [{"op": "step", "action": text, "answer": text}], "note": name}]
    row = {"name": name, "program": text, "program_sha256": "0", "stage": "order", "reason": name, "message": text}
    row |= {"evidence": json.dumps(evidence), "facts": json.dumps({"M1": text}), "hint": text, "answer": text}
    lines = [*listed(name, [row]), *shown(name, row)]
    assert all(line.isprintable() for line in lines)
