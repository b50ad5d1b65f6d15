"""Verify workers judge a folder of programs in a real pod; who they are and what kills them changes no verdict."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.component.workers.runs import ROOT, SmallRun, finished, small_run, start, start_all
from tests.support.sandbox_pods import RunningPod, pod_in_namespaces

from spade_contracts.config import SandboxLimits
from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import VerificationSettings
from spade_contracts.exit_codes import ExitCode
from spade_contracts.manifests import VerificationManifest
from spade_contracts.statuses import VerifySummary
from spade_contracts.tasks import VerifyTask
from spade_trainer.store import manifests, verifications
from spade_trainer.store.objects import open_store
from spade_trainer.store.programs import read_programs
from spade_trainer.workers.verify import CHUNK

COPIES = 6
"""More files than one chunk holds."""


@pytest.fixture(scope="module")
def pod() -> Iterator[RunningPod]:
    with pod_in_namespaces() as running:
        running.tried()
        yield running


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's samples, some of them several times, and two files that are no programs."""
    folder = tmp_path_factory.mktemp("pool") / "programs"
    folder.mkdir()
    documents = yaml.safe_load_all((ROOT / "examples" / "verify-pool.yaml").read_text())
    (samples,) = (d["data"] for d in documents if d["kind"] == "ConfigMap")
    for name, text in samples.items():
        (folder / name).write_text(text)
    for number in range(COPIES):
        shutil.copy(folder / "phones_home.py", folder / f"more_{number}.py")
        shutil.copy(folder / "half_written.py", folder / f"rest_{number}.py")
    (folder / "zz_empty.py").write_bytes(b"")
    (folder / "zz_no_text.py").write_bytes(b"\xff\xfe")
    return folder


def task(run: SmallRun, programs: Path, **changes: object) -> VerifyTask:
    known = VerifyTask(
        run=run.run,
        programs_uri=programs.as_uri(),
        domain=Domain.GAMES,
        settings=VerificationSettings(canaries=1),
        limits=SandboxLimits(memory_bytes=128 * 2**20, cpu_seconds=30),
        attempt=0,
        workers=1,
        sandbox_host=run.sandbox,
    )
    return known.model_copy(update=changes)


def manifest_of(run: SmallRun, wanted: VerifyTask) -> VerificationManifest:
    store = open_store(run.run.storage_uri)
    digest = verifications.digest(wanted, read_programs(wanted.programs_uri))
    return manifests.read(store, manifests.verification_path(digest), VerificationManifest)


@pytest.fixture(scope="module")
def judged(pod: RunningPod, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[SmallRun, VerifySummary]:
    """One worker's work, undisturbed."""
    run = small_run(tmp_path_factory.mktemp("one") / "run", "", pod.target)

    async def go() -> VerifySummary:
        worker = await start(run, task(run, programs))
        await finished([worker])
        return VerifySummary.model_validate_json(worker.message.read_bytes())

    return run, asyncio.run(go())


def test_every_program_has_the_verdict_that_it_deserves(judged: tuple[SmallRun, VerifySummary], programs: Path) -> None:
    run, summary = judged
    manifest = manifest_of(run, task(run, programs))
    assert manifest.programs == len(list(programs.iterdir())) > CHUNK
    assert [entry.name for entry in manifest.accepted] == ["code_lock.py", "number_search.py"]
    assert manifest.rejected["parse/forbidden_import"] == COPIES + 1
    assert manifest.rejected["parse/syntax"] == COPIES + 1
    assert (manifest.rejected["parse/empty"], manifest.rejected["parse/encoding"]) == (1, 1)
    assert (summary.programs, summary.accepted) == (manifest.programs, 2)
    assert summary.rejected == manifest.rejected
    assert summary.mutation_scores is not None
    assert summary.diversity is not None


async def test_a_finished_verification_is_left_alone(judged: tuple[SmallRun, VerifySummary], programs: Path) -> None:
    run, summary = judged
    before = {path: path.read_bytes() for path in run.storage.rglob("*") if path.is_file()}
    again = await start(run, task(run, programs, attempt=1, sandbox_host="127.0.0.1:1"))
    await finished([again])
    told = VerifySummary.model_validate_json(again.message.read_bytes())
    assert told.model_copy(update={"seconds": summary.seconds}) == summary
    assert {path: path.read_bytes() for path in run.storage.rglob("*") if path.is_file()} == before


async def first_parts(run: SmallRun) -> dict[Path, bytes]:
    """The part files that are there as soon as there is one."""
    for _ in range(6000):
        if parts := list(run.storage.rglob("judged-*.parquet")):
            return {path: path.read_bytes() for path in parts}
        await asyncio.sleep(0.02)
    raise AssertionError("no worker wrote a part")


async def test_killed_workers_leave_what_they_judged_and_others_do_the_rest(
    judged: tuple[SmallRun, VerifySummary], pod: RunningPod, programs: Path, tmp_path: Path
) -> None:
    run = small_run(tmp_path / "run", "", pod.target)
    first = await start_all(run, task(run, programs, workers=2))
    kept = await first_parts(run)
    for worker in first:
        await worker.kill()
    await finished(await start_all(run, task(run, programs, workers=2, attempt=1)))
    assert {path: path.read_bytes() for path in kept} == kept
    undisturbed, _ = judged
    assert manifest_of(run, task(run, programs)) == manifest_of(undisturbed, task(undisturbed, programs))


async def test_nothing_to_judge_is_told_and_not_tried_again(pod: RunningPod, tmp_path: Path) -> None:
    run = small_run(tmp_path / "run", "", pod.target)
    worker = await start(run, task(run, tmp_path / "nowhere"))
    assert await worker.ended() == ExitCode.NEVER
    told = VerifySummary.model_validate_json(worker.message.read_bytes())
    assert "nowhere: cannot be read" in told.error
