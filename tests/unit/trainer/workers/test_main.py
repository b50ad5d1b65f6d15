"""A worker's exit code says whether trying again can help, and its last words are the summary."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.unit.trainer.builders import method

from spade_contracts.config import SandboxLimits
from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import VerificationSettings
from spade_contracts.errors import InfrastructureFault, InvalidInput, ManifestMissing
from spade_contracts.exit_codes import ExitCode
from spade_contracts.resources import Reason
from spade_contracts.statuses import DesignSummary, PlaySummary, PrepareResult, VerifySummary
from spade_contracts.tasks import DesignTask, PlayTask, PrepareTask, RunRef, VerifyTask
from spade_trainer.store import room
from spade_trainer.store.objects import create, open_store
from spade_trainer.store.room import StorageFull
from spade_trainer.workers import prepare
from spade_trainer.workers.main import judged, main
from spade_trainer.workers.parts import PartsMissing, wait_for_parts
from spade_trainer.workers.surroundings import from_environment, leave_message

REFUSED, LOST = InvalidInput("spec", "is wrong"), InfrastructureFault("a pod is gone")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (REFUSED, ExitCode.NEVER),
        (LOST, ExitCode.AGAIN),
        (ManifestMissing("not yet"), ExitCode.AGAIN),
        (OSError(5, "Input/output error"), ExitCode.AGAIN),
        (StorageFull("file:///s", "0 bytes are free"), ExitCode.STORAGE_FULL),
        (ExceptionGroup("", [REFUSED, StorageFull("file:///s", "")]), ExitCode.STORAGE_FULL),
        (asyncio.CancelledError(), ExitCode.AGAIN),
        (ZeroDivisionError("a bug"), ExitCode.NEVER),
        (ExceptionGroup("", [LOST, ExceptionGroup("", [LOST])]), ExitCode.AGAIN),
        (ExceptionGroup("", [LOST, ExceptionGroup("", [REFUSED])]), ExitCode.NEVER),
        (ExceptionGroup("", [LOST, KeyError("a bug")]), ExitCode.NEVER),
    ],
)
def test_the_exit_code_of_an_error(error: BaseException, code: int) -> None:
    assert judged(error)[0] == code


def test_the_sentence_of_a_group_is_that_of_its_worst_error() -> None:
    assert judged(ExceptionGroup("", [LOST, REFUSED]))[1] == "spec: is wrong"


@pytest.fixture
def message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "termination-log"
    monkeypatch.setenv("SPADE_TERMINATION_LOG", str(path))
    return path


def run_ref(tmp_path: Path) -> RunRef:
    return RunRef(namespace="default", name="mini", uid="u", storage_uri=(tmp_path / "storage").as_uri())


def written(tmp_path: Path, task: PrepareTask | DesignTask | PlayTask | VerifyTask) -> str:
    path = tmp_path / "task.json"
    path.write_text(task.model_dump_json())
    return str(path)


def test_a_refused_run_is_a_result_and_no_failure(tmp_path: Path, message: Path) -> None:
    task = PrepareTask(run=run_ref(tmp_path), model_uri="hf:x", method=method())
    assert main(["prepare", "--task", written(tmp_path, task)]) == ExitCode.DONE
    result = PrepareResult.model_validate_json(message.read_bytes())
    assert (result.accepted, bool(result.reason), bool(result.message)) == (False, True, True)


def play_task(tmp_path: Path) -> PlayTask:
    return PlayTask(
        run=run_ref(tmp_path),
        rollout=0,
        cycle=0,
        policy_version=0,
        attempt=0,
        workers=1,
        engine_host="127.0.0.1:1",
        sandbox_host="127.0.0.1:1",
    )


def test_a_run_that_is_not_prepared_yet_is_tried_again_and_says_so(tmp_path: Path, message: Path) -> None:
    arguments = ["play", "--task", written(tmp_path, play_task(tmp_path)), "--status-port", "0"]
    assert main(arguments) == ExitCode.AGAIN
    assert "run.json does not exist" in PlaySummary.model_validate_json(message.read_bytes()).error


def test_a_full_storage_has_its_own_code_and_is_said(
    tmp_path: Path, message: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "free_bytes", lambda _: 0)
    arguments = ["play", "--task", written(tmp_path, play_task(tmp_path)), "--status-port", "0"]
    assert main(arguments) == ExitCode.STORAGE_FULL
    assert "is full (0 bytes are free)" in PlaySummary.model_validate_json(message.read_bytes()).error


def test_a_preparation_that_finds_storage_full_says_so_as_its_result(
    tmp_path: Path, message: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepare, "create", full)
    task = PrepareTask(run=run_ref(tmp_path), model_uri="package:tiny", method=method())
    assert main(["prepare", "--task", written(tmp_path, task)]) == ExitCode.DONE
    result = PrepareResult.model_validate_json(message.read_bytes())
    assert (result.accepted, result.reason) == (False, Reason.STORAGE_FULL)


def test_storage_of_another_version_is_not_tried_again(tmp_path: Path, message: Path) -> None:
    create(open_store(run_ref(tmp_path).storage_uri), "run.json", b'{"format": 99}')
    fields = play_task(tmp_path).model_dump(exclude={"kind", "rollout", "episodes"})
    task = DesignTask(**fields)
    assert main(["design", "--task", written(tmp_path, task), "--status-port", "0"]) == ExitCode.NEVER
    assert "run.json" in DesignSummary.model_validate_json(message.read_bytes()).error


def test_programs_that_are_not_there_are_told_of_and_not_tried_again(tmp_path: Path, message: Path) -> None:
    task = VerifyTask(
        run=run_ref(tmp_path),
        programs_uri=(tmp_path / "nowhere").as_uri(),
        domain=Domain.GAMES,
        settings=VerificationSettings(),
        limits=SandboxLimits(),
        attempt=0,
        workers=1,
        sandbox_host="127.0.0.1:1",
    )
    assert main(["verify", "--task", written(tmp_path, task), "--status-port", "0"]) == ExitCode.NEVER
    summary = VerifySummary.model_validate_json(message.read_bytes())
    assert "nowhere: cannot be read" in summary.error
    assert summary.programs == 0


@pytest.mark.parametrize("content", [None, "{}", '{"kind": "dance"}', "not json"])
def test_a_task_that_is_none_of_ours_is_not_tried_again(tmp_path: Path, message: Path, content: str | None) -> None:
    path = tmp_path / "task.json"
    if content is not None:
        path.write_text(content)
    assert main(["play", "--task", str(path)]) == ExitCode.NEVER
    assert not message.exists()


def test_a_task_of_another_kind_is_refused(tmp_path: Path, message: Path) -> None:
    assert main(["design", "--task", written(tmp_path, play_task(tmp_path))]) == ExitCode.NEVER
    assert "play task" in PlaySummary.model_validate_json(message.read_bytes()).error


def test_last_words_fit_what_kubernetes_keeps(tmp_path: Path) -> None:
    path = tmp_path / "log"
    result = PrepareResult(accepted=False, reason="ModelUnsupported", message="x" * 1500)
    leave_message(path, result)
    assert json.loads(path.read_text())["message"] == "x" * 1500
    assert path.stat().st_size <= 4096
    leave_message(tmp_path / "no folder" / "log", result)


def test_values_of_the_container_come_from_its_environment() -> None:
    around = from_environment({"JOB_COMPLETION_INDEX": "3", "SPADE_TERMINATION_LOG": "/x"})
    assert (around.index, around.termination_log) == (3, Path("/x"))
    assert from_environment({}).index == 0
    assert from_environment({}).judge_key is None
    with_key = from_environment({"SPADE_JUDGE_API_KEY": "not for logs"})
    assert with_key.judge_key == "not for logs"
    assert "not for logs" not in repr(with_key)
    keys = from_environment({"SPADE_DESIGNER_API_KEY": "first secret", "SPADE_HINTS_API_KEY": "second secret"})
    assert (keys.designer_key, keys.hints_key) == ("first secret", "second secret")
    assert "secret" not in repr(keys)


async def test_worker_0_waits_for_parts_as_long_as_news_come() -> None:
    present: set[int] = set()

    async def others() -> None:
        for slot in range(3):
            await asyncio.sleep(0.05)
            present.add(slot)

    working = asyncio.create_task(others())
    await wait_for_parts(range(3), lambda: present, patience_seconds=1.0, poll_seconds=0.01)
    assert present == {0, 1, 2}
    await working


async def test_worker_0_gives_up_on_parts_that_do_not_come() -> None:
    with pytest.raises(PartsMissing, match="1"):
        await wait_for_parts(range(2), lambda: {0}, patience_seconds=0.05, poll_seconds=0.01)
