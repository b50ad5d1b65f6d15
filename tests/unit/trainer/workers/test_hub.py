"""A model of the hub is one commit of it, asked for once; what the hub does not give is told without the token."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants
from tests.unit.trainer.workers.test_prepare import corpus, model, settings, task

from spade_contracts.errors import InfrastructureFault
from spade_trainer.store import manifests
from spade_trainer.store.objects import open_store
from spade_trainer.workers.hub import download_model
from spade_trainer.workers.model_source import Refused
from spade_trainer.workers.prepare import prepare

__all__ = ["corpus", "model"]

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "lab/byte-moe"
TOKEN = "hf_not-to-be-told"


class Hub(ThreadingHTTPServer):
    """A stand-in that speaks as much of the hub's protocol as a download needs."""

    def __init__(self, folder: Path, token: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.folder, self.token = folder, token
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answers(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        hub = self.server
        hub.asked.append(f"{self.command} {self.path}")
        resolved = f"/{REPOSITORY}/resolve/{COMMIT}/"
        if hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
            self._answer(401, b"{}", {"X-Error-Code": "GatedRepo"})
        elif self.path.startswith(f"/api/models/{REPOSITORY}/tree/{COMMIT}"):
            files = [
                {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": "0" * 40}
                for file in sorted(hub.folder.iterdir())
            ]
            self._answer(200, json.dumps(files).encode(), {})
        elif self.path.startswith(f"/api/models/{REPOSITORY}/tree/"):
            self._answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        elif self.path.startswith(resolved) and (file := hub.folder / self.path.removeprefix(resolved)).is_file():
            content = file.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            self._answer(200, content, {"ETag": f'"{digest}"', "X-Repo-Commit": COMMIT})
        else:
            self._answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@pytest.fixture
def hub(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub(model)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home-cache"))
    yield server
    server.shutdown()
    server.server_close()


def test_run_begins_with_the_models_files_and_records_the_commit(tmp_path: Path, corpus: Path, hub: Hub) -> None:
    wanted = task(tmp_path, f"hf:{REPOSITORY}", settings(corpus)).model_copy(update={"revision": COMMIT})
    result = prepare(wanted)
    assert result.accepted, result.message
    store = open_store((tmp_path / "storage").as_uri())
    assert manifests.read_run(store).model_uri == f"hf:{REPOSITORY}@{COMMIT}"
    assert "model.safetensors" in manifests.read_policy(store, 0).files
    assert not [path for path in hub.asked if "notes.md" in path], "what is no part of a model is not fetched"
    asked = len(hub.asked)
    assert prepare(wanted) == result
    assert len(hub.asked) == asked, "a prepared run asks nobody"


def test_cache_volume_spares_the_second_download(tmp_path: Path, hub: Hub) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    first = download_model(REPOSITORY, COMMIT, cache)
    contents = [path for path in hub.asked if path.startswith("GET") and "/resolve/" in path]
    assert contents
    assert download_model(REPOSITORY, COMMIT, cache) == first
    again = [path for path in hub.asked if path.startswith("GET") and "/resolve/" in path]
    assert again == contents


def test_gated_model_needs_the_token_and_no_message_holds_one(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.token = TOKEN
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(Refused, match="HF_TOKEN"):
        download_model(REPOSITORY, COMMIT, tmp_path)
    monkeypatch.setenv("HF_TOKEN", "hf_wrong-one")
    with pytest.raises(Refused) as caught:
        download_model(REPOSITORY, COMMIT, tmp_path)
    assert "hf_wrong-one" not in str(caught.value)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert (download_model(REPOSITORY, COMMIT, tmp_path) / "config.json").is_file()


@pytest.mark.parametrize(
    ("repository", "commit", "words"),
    [("lab/none", COMMIT, "does not show a model lab/none"), (REPOSITORY, "f" * 40, "has no commit ffff")],
)
def test_what_the_hub_does_not_have_is_told(tmp_path: Path, hub: Hub, repository: str, commit: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        download_model(repository, commit, tmp_path)


def test_hub_that_does_not_answer_is_tried_again(tmp_path: Path, hub: Hub) -> None:
    hub.shutdown()
    hub.server_close()
    with pytest.raises(InfrastructureFault, match="egress"):
        download_model(REPOSITORY, COMMIT, tmp_path)
