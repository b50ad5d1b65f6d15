"""What a pod hands out comes whole or is an error with the pod's own words, and the pod goes afterwards."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from kubernetes.client import ApiClient, Configuration
from tests.unit.cli.test_watch import run_with

from spade_cli import storage_pod as module
from spade_cli.storage_pod import StoragePod, storage_pod
from spade_contracts.errors import InfrastructureFault


class Answer:
    """What the API server sends of an `exec`: chunks of stdout, words of stderr, and how it ended."""

    def __init__(self, *chunks: bytes, words: bytes = b"", code: int = 0) -> None:
        self.chunks, self.words, self.returncode, self.closed = list(chunks), words, code, False

    def is_open(self) -> bool:
        return len(self.chunks) > 1

    def update(self, timeout: float) -> None:
        pass

    def read_stdout(self, timeout: float) -> bytes:
        return self.chunks.pop(0) if self.chunks else b""

    def read_stderr(self, timeout: float) -> bytes:
        said, self.words = self.words, b""
        return said

    def close(self) -> None:
        self.closed = True


class Silent(Answer):
    """Stays open and says nothing."""

    def is_open(self) -> bool:
        return True


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Answers to be given, in turn; commands are put in their place. All but the connection is the library's own."""
    commands: list[Any] = []

    def connect(configuration: Any, url: str, headers: Any, capture_all: bool, binary: bool = False) -> Any:
        assert binary
        assert not capture_all, "a model does not fit into memory"
        parts = urlsplit(url)
        assert parts.path.endswith("/namespaces/default/pods/mini-export/exec")
        answer = commands.pop(0)
        commands.append(parse_qs(parts.query)["command"])
        return answer

    monkeypatch.setattr("kubernetes.stream.ws_client.WSClient", connect)
    return commands


POD = StoragePod(api=ApiClient(Configuration(host="https://127.0.0.1:1")), namespace="default", name="mini-export")


def test_content_comes_in_chunks_to_the_last_byte(asked: list[Any]) -> None:
    asked.append(answer := Answer(b"one", b"", b"two", b"three"))
    assert b"".join(POD.read("/storage/x")) == b"onetwothree"
    assert asked == [["cat", "/storage/x"]]
    assert answer.closed


def test_names_are_listed(asked: list[Any]) -> None:
    asked.append(Answer(b"0003\n0000\n"))
    assert POD.names("/storage/policies") == ("0000", "0003")


def test_failure_is_told_in_the_pods_words(asked: list[Any]) -> None:
    asked.append(answer := Answer(b"half", b"", words=b"cat: /storage/x: Input/output error", code=1))
    with pytest.raises(InfrastructureFault, match="Input/output error"):
        list(POD.read("/storage/x"))
    assert answer.closed


def test_silence_ends(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENT_SECONDS", -1.0)
    asked.append(answer := Silent())
    with pytest.raises(InfrastructureFault, match="nothing came"):
        list(POD.read("/storage/x"))
    assert answer.closed


class Core:
    """CoreV1Api of a cluster in which pods come to these states in turn."""

    states: Iterator[Any]
    calls: list[str]

    def __init__(self, api: Any) -> None:
        pass

    def create_namespaced_pod(self, namespace: str, body: Any, **_: Any) -> None:
        self.calls.append("create")

    def read_namespaced_pod_status(self, name: str, namespace: str, **_: Any) -> Any:
        return SimpleNamespace(status=next(self.states))

    def delete_namespaced_pod(self, name: str, namespace: str, **_: Any) -> None:
        self.calls.append("delete")


def state(phase: str, waiting: Any = None, conditions: Any = None) -> Any:
    statuses = [SimpleNamespace(state=SimpleNamespace(waiting=waiting))] if waiting is not None else None
    return SimpleNamespace(phase=phase, container_statuses=statuses, conditions=conditions)


UNSCHEDULED = SimpleNamespace(type="PodScheduled", status="False", message="claim missing")


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> type[Core]:
    Core.calls = []
    monkeypatch.setattr("kubernetes.client.CoreV1Api", Core)
    return Core


def test_pod_is_deleted_also_when_the_copy_fails(core: type[Core]) -> None:
    core.states = iter([state("Running")])
    with pytest.raises(RuntimeError, match="the copy"), storage_pod(None, run_with(), "image"):
        raise RuntimeError("the copy failed")
    assert core.calls == ["create", "delete"]


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (
            state("Pending", waiting=SimpleNamespace(reason="ErrImagePull", message="no such image")),
            "ErrImagePull: no such image",
        ),
        (
            state(
                "Pending", conditions=[SimpleNamespace(type="PodScheduled", status="False", message="claim missing")]
            ),
            "claim missing",
        ),
    ],
)
def test_pod_that_does_not_start_says_why_and_is_deleted(
    core: type[Core], monkeypatch: pytest.MonkeyPatch, seen: Any, words: str
) -> None:
    core.states = iter([seen, state("Failed")])
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    with pytest.raises(InfrastructureFault, match=words), storage_pod(None, run_with(), "image"):
        pass
    assert core.calls == ["create", "delete"]
