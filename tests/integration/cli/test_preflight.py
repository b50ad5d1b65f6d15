"""`spade check` compares a run with a real API server's objects, as far as the user's own rights go."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.api_server import ApiServer
from tests.support.children import RESOURCES
from typer.testing import CliRunner

from spade_cli.main import app
from spade_contracts.errors import SpadeError

RUN = {
    "apiVersion": "spade.dev/v1alpha1",
    "kind": "SpadeRun",
    "metadata": {"name": "mini"},
    "spec": {
        "model": {"uri": "file:///storage/m"},
        "rollouts": 2,
        "workers": {"pod": {"secretEnvironment": {"SPADE_JUDGE_API_KEY": {"secret": "judge", "key": "token"}}}},
    },
}


@dataclass
class Place:
    """A namespace with an installation's settings in it, and a node and classes of its own."""

    server: ApiServer
    namespace: str
    folder: Path

    @property
    def runtime_class(self) -> str:
        return f"gvisor-{self.namespace}"

    def apply(self, *objects: dict[str, Any]) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        applied = self.server.kubectl("apply", "-n", self.namespace, "-f", "-", stdin=text)
        assert applied.returncode == 0, applied.stderr

    def check(self, *options: str, kubeconfig: Path | None = None) -> tuple[int, str]:
        """Exit code and output."""
        file = self.folder / "run.json"
        file.write_text(json.dumps(RUN))
        result = CliRunner().invoke(app, [
            "check", str(file), "--cluster", "--kubeconfig", str(kubeconfig or self.server.kubeconfig),
            "-n", self.namespace, "--operator-namespace", self.namespace, *options,
        ])  # fmt: skip
        if isinstance(result.exception, SpadeError):
            raise result.exception
        return result.exit_code, result.output


@pytest.fixture
def place(api_server: ApiServer, tmp_path: Path) -> Iterator[Place]:
    here = Place(api_server, f"check-{secrets.token_hex(4)}", tmp_path)
    assert api_server.kubectl("create", "namespace", here.namespace).returncode == 0
    site = {
        "images": {name: f"spade/{name}:test" for name in ("sandbox", "worker", "trainer")},
        "sandboxRuntimeClass": here.runtime_class, "operatorNamespace": here.namespace,
        "operatorLabels": {"app": "operator"}, "resources": RESOURCES, "targets": [], "installationKeyFile": "/key",
    }  # fmt: skip
    here.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "spade-operator-site"},
                "data": {"site.json": json.dumps(site)}})  # fmt: skip
    yield here
    for kind in ("runtimeclass", "namespace"):
        name = here.runtime_class if kind == "runtimeclass" else here.namespace
        api_server.kubectl("delete", kind, name, "--wait=false", "--ignore-not-found")


def made(api_version: str, kind: str, name: str, **body: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **body}


def test_each_thing_that_is_missing_is_told_until_it_is_there(place: Place) -> None:
    code, said = place.check()
    assert code == 1
    assert f"RuntimeClass {place.runtime_class} of the sandbox pods does not exist." in said
    assert "Secret judge does not exist" in said

    place.apply(made("node.k8s.io/v1", "RuntimeClass", place.runtime_class, handler="runsc"))
    place.apply(made("v1", "Secret", "judge", stringData={"other": "x"}))
    place.apply(made("v1", "ResourceQuota", "small", spec={"hard": {"pods": "3"}}))
    code, said = place.check()
    assert code == 1
    assert "Secret judge has no key token." in said
    assert "Quota small is smaller than the run: pods 5 is needed, 3 is there." in said

    place.apply(made("v1", "Secret", "judge", stringData={"token": "x"}))
    place.apply(made("v1", "ResourceQuota", "small", spec={"hard": {"pods": "30"}}))
    code, said = place.check()
    assert code == 0, said
    assert "problem" not in said
    assert "unknown network: " in said


def test_user_who_may_look_at_little_is_told_what_was_not_looked_at(place: Place) -> None:
    for arguments in (
        ("create", "serviceaccount", "guest"),
        ("create", "role", "reads-settings", "--verb=get", "--resource=configmaps"),
        ("create", "rolebinding", "guest", "--role=reads-settings", f"--serviceaccount={place.namespace}:guest"),
    ):
        assert place.server.kubectl(*arguments, "-n", place.namespace).returncode == 0
    token = place.server.kubectl("create", "token", "guest", "-n", place.namespace).stdout.strip()
    config = json.loads(place.server.kubeconfig.read_text())
    config["users"] = [{"name": "admin", "user": {"token": token}}]
    kubeconfig = place.folder / "guest"
    kubeconfig.write_text(json.dumps(config))
    code, said = place.check(kubeconfig=kubeconfig)
    assert code == 0, said
    lines = [line.split(maxsplit=1) for line in said.splitlines()[1:]]
    not_looked_at = {"RuntimeClass", "storage", "names", "quota", "nodes", "images", "network"}
    told = {(level, words.partition(":")[0]) for level, words in lines}
    assert told == {("unknown", about) for about in not_looked_at} | {("warning", "sizes")}, said


def test_installation_that_is_not_found_is_said(place: Place) -> None:
    code, said = place.check("--operator-namespace", "elsewhere")
    assert code == 0
    assert "ConfigMap elsewhere/spade-operator-site) cannot be read" in said
