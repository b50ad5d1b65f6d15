"""`spade replay` plays the episodes of a run again out of its storage, and sees when one does not fit its program."""

import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.component.local.conftest import COMMAND
from tests.component.workers.runs import SmallRun, designed, played, prepared, small_run
from tests.component.workers.scripted_engine import ScriptedEngine, serving
from tests.support.sandbox_pods import pod_in_namespaces

from spade_trainer.chat import load_chat
from spade_trainer.workers.model_source import resolve_model

DEADLINE_SECONDS = 600


@pytest.fixture
async def run(tmp_path: Path) -> SmallRun:
    """A run after its first rollout."""
    with pod_in_namespaces() as pod:
        pod.tried()
        async with serving(ScriptedEngine(load_chat(resolve_model("package:tiny")))) as engine:
            made = small_run(tmp_path / "run", engine, pod.target)
            assert (await prepared(made)).accepted
            await designed(made, 0)
            await played(made, 0)
    return made


def replayed(part: Path, index: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, "replay", str(part), "--index", str(index), "--backend", "cells"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )


def test_episode_of_a_run_repeats_and_a_forged_one_does_not(run: SmallRun) -> None:
    part = sorted((run.storage / "rollouts" / "0000").glob("episodes-*.parquet"))[0]
    table = pq.read_table(part)
    rows = table.to_pylist()
    index = next(i for i, row in enumerate(rows) if row["turns"] > 1)
    done = replayed(part, index)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"All {1 + len(rows[index]['actions'])} answers are the same." in done.stdout

    rows[index]["rewards"][0] += 0.5
    part.unlink()
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), part)
    forged = replayed(part, index)
    assert forged.returncode == 1, forged.stdout + forged.stderr
    assert f"1 of {1 + len(rows[index]['actions'])} answers differ." in forged.stdout
    assert "(reward)" in forged.stdout
