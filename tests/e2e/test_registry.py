"""Images are built here, pushed to a registry and pulled from it by digest; Debian's docker-registry stands for any."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.kube import Cluster, Object, apply, get, kubectl, run_command, wait_until
from tests.e2e.runs import NAMESPACE

ROOT = Path(__file__).parents[2]
ADDRESS = "172.31.255.1:5055"
"""The node's address in the development cluster."""
PACKAGE = "docker-registry"
PUSH_SECONDS = 600


@pytest.fixture(scope="module")
def registry(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry without TLS that the cluster's containerd knows of."""
    folder = tmp_path_factory.mktemp("registry")
    run_command(ROOT / "cluster" / "packages", PACKAGE, timeout_seconds=300)
    settings = folder / "config.yml"
    storage = {"filesystem": {"rootdirectory": str(folder / "data")}}
    settings.write_text(json.dumps({"version": 0.1, "storage": storage, "http": {"addr": ADDRESS}}))
    hosts = cluster.registries / ADDRESS / "hosts.toml"
    hosts.parent.mkdir(parents=True)
    hosts.write_text(f'server = "http://{ADDRESS}"\n[host."http://{ADDRESS}"]\ncapabilities = ["pull", "resolve"]\n')
    with (folder / "log").open("w") as log:
        child = subprocess.Popen([PACKAGE, "serve", settings], stdout=log, stderr=log)
        try:
            yield f"{ADDRESS}/team"
        finally:
            child.terminate()
            child.wait(30)
            hosts.unlink()
            hosts.parent.rmdir()


def pod(image: str) -> Object:
    """A pod that asks the registry for the image, whatever the node has, and tells what version of Python is in it."""
    restricted = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "from-registry", "namespace": NAMESPACE},
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": image,
                    "imagePullPolicy": "Always",
                    "command": ["python3", "-c", "import spade_contracts.labels; print('there')"],
                    "securityContext": restricted,
                }
            ],
        },
    }


def test_image_is_pushed_and_pulled_by_digest(operator: Cluster, registry: str) -> None:
    told = run_command(
        ROOT / "cluster" / "push", "--plain-http", registry, "sandbox", timeout_seconds=PUSH_SECONDS
    ).splitlines()[-1]
    name, reference = told.split("=", 1)
    assert name == "sandbox"
    assert reference.startswith(f"{registry}/sandbox@sha256:")
    apply(operator, pod(reference))
    try:

        def ended() -> Object | None:
            seen = get(operator, "pod", "from-registry", NAMESPACE)
            return seen if seen is not None and seen["status"].get("phase") in ("Succeeded", "Failed") else None

        seen = wait_until(
            "the pod ends", ended, 120, lambda: json.dumps(get(operator, "pod", "from-registry", NAMESPACE))
        )
        assert seen["status"]["phase"] == "Succeeded", seen["status"]
        assert kubectl(operator, "logs", "from-registry", "-n", NAMESPACE).strip() == "there"
    finally:
        kubectl(operator, "delete", "pod", "from-registry", "-n", NAMESPACE, "--wait=false")
