"""Time to so many ready sandboxes: cells in SPADE's pods, plain gVisor pods, claims of kubernetes-sigs/agent-sandbox.

    python -m tests.bench.peers [--count 100] [--agent-sandbox CHECKOUT]

On the development cluster with its images (`make images`), one after the other, from nothing and from what is warm.
agent-sandbox is in no package registry: it is measured when a checkout of its repository is given, which Go builds.
All use our sandbox image. A cell is ready when its program has answered `reset`; a pod when the kubelet says so, and a
claim when its controller does: both have run no program yet. Needs root and a machine with nothing else to do.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kubernetes import client, config
from tests.bench.api_writes import WRITES, events
from tests.bench.beside import agent_sandbox
from tests.bench.record import Figure, measured, write
from tests.component.sandbox.programs import stepping

from spade_contracts import ports
from spade_contracts.config.sandbox import SandboxLimits
from spade_sandbox.client import SandboxPool

ROOT = Path(__file__).parents[2]
NAMESPACE = "spade-peers"
TOKEN = "a token of the benchmark"
SPADE_PODS = 2
WARM_ROUNDS = 3
DEADLINE_SECONDS = 1200.0
POLL_SECONDS = 0.1
PROGRAM = stepping("pass")
LIMITS = SandboxLimits(cpu_seconds=60, step_seconds=60.0)
PUBLISHED = (
    "Published elsewhere, on other machines, by OpenSandbox: 100 from a warm pool in 0.92 s (runc, one batch), and "
    "100 claims of agent-sandbox in 23 to 76 s."
)


def pod(image: str, command: list[str], **more: Any) -> dict[str, Any]:
    """A pod in gVisor, as bare as it can be."""
    container = {"name": "main", "image": image, "command": command, **more}
    return {
        "metadata": {"labels": {"app": NAMESPACE}},
        "spec": {
            "runtimeClassName": "gvisor",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "securityContext": {"runAsUser": 65532, "runAsNonRoot": True},
            "containers": [container],
        },
    }


def spade_pod(image: str, capacity: int) -> dict[str, Any]:
    """A sandbox pod of ours that takes sessions as soon as its walls stand."""
    variables = {
        "CAPACITY": str(capacity),
        "ADMIT": "unproven",
        "TOKEN_DIGEST_FILE": "/tokens/digest",
    }
    probe = {"httpGet": {"path": "/healthz", "port": ports.SANDBOX_STATUS}, "periodSeconds": 1}
    found = pod(
        image,
        ["python", "-m", "spade_sandbox.pod"],
        env=[{"name": f"SPADE_SANDBOX_{name}", "value": value} for name, value in variables.items()],
        readinessProbe=probe,
        volumeMounts=[{"name": "tokens", "mountPath": "/tokens"}, {"name": "tmp", "mountPath": "/tmp"}],
    )
    found["spec"]["volumes"] = [{"name": "tokens", "configMap": {"name": "tokens"}}, {"name": "tmp", "emptyDir": {}}]
    return found


def deployment(name: str, template: dict[str, Any], replicas: int) -> dict[str, Any]:
    """So many pods."""
    labels = {"app": NAMESPACE, "of": name}
    template = {**template, "metadata": {"labels": labels}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def ready_pods(core: client.CoreV1Api, name: str) -> list[str]:
    """Addresses of the ready pods of a Deployment."""
    found = core.list_namespaced_pod(NAMESPACE, label_selector=f"of={name}", _preload_content=False)
    return [
        item["status"]["podIP"]
        for item in json.loads(found.data)["items"]
        if any(c["type"] == "Ready" and c["status"] == "True" for c in item["status"].get("conditions", []))
    ]


def until(what: str, reached: Callable[[], bool]) -> None:
    """Return once it holds. Raises SystemExit past the deadline."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not reached():
        if time.monotonic() > end:
            raise SystemExit(f"not within {DEADLINE_SECONDS:.0f} s: {what}")
        time.sleep(POLL_SECONDS)


async def hand_out(addresses: list[str], count: int) -> float:
    """Seconds until so many programs have answered `reset`, all asked for at once."""
    targets = [f"{address}:{ports.SANDBOX_SESSIONS}" for address in addresses]
    async with SandboxPool(targets, TOKEN) as pool, contextlib.AsyncExitStack() as stack:

        async def one() -> None:
            session = await stack.enter_async_context(
                pool.session(PROGRAM, LIMITS, max_turns=4, wait_seconds=DEADLINE_SECONDS)
            )
            await session.reset(1)

        began = time.monotonic()
        await asyncio.gather(*(one() for _ in range(count)))
        return time.monotonic() - began


class Node:
    """What the machine and the API server saw of a hand-out."""

    def __init__(self, audit_log: Path) -> None:
        self._audit_log = audit_log

    def memory_mib(self) -> float:
        """Memory that is not available to others now."""
        values = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        return (int(values["MemTotal"].split()[0]) - int(values["MemAvailable"].split()[0])) / 1024

    def writes_since(self, moment: datetime) -> int:
        """Writes to the namespace by others than the control plane and the kubelet."""
        return sum(
            1
            for event in events(self._audit_log)
            if event.get("verb") in WRITES
            and event.get("objectRef", {}).get("namespace") == NAMESPACE
            and datetime.fromisoformat(event["stageTimestamp"]) >= moment
        )


def spade(apps: client.AppsV1Api, core: client.CoreV1Api, image: str, count: int, node: Node) -> list[Figure]:
    """Cells, from nothing and in pods that are up."""
    before, began = node.memory_mib(), time.monotonic()
    core.create_namespaced_config_map(
        NAMESPACE,
        {"metadata": {"name": "tokens"}, "data": {"digest": hashlib.sha256(TOKEN.encode()).hexdigest()}},
    )
    template = spade_pod(image, -(-count // SPADE_PODS) + 4)
    apps.create_namespaced_deployment(NAMESPACE, deployment("spade", template, SPADE_PODS))
    until("sandbox pods are ready", lambda: len(ready_pods(core, "spade")) == SPADE_PODS)
    addresses = ready_pods(core, "spade")
    asyncio.run(hand_out(addresses, count))
    cold = time.monotonic() - began
    moment = datetime.now(UTC)
    warm = sorted(asyncio.run(hand_out(addresses, count)) for _ in range(WARM_ROUNDS))[WARM_ROUNDS // 2]
    writes = node.writes_since(moment)
    held = asyncio.run(_memory_while_held(addresses, count, node)) - before
    _gone(apps, core, "spade")
    name = f"SPADE, {count} cells in {SPADE_PODS} pods"
    return [
        measured(f"{name}: from nothing", cold, "s"),
        measured(f"{name}: pods are up", warm, "s"),
        measured(f"{name}: API writes of a hand-out", writes / WARM_ROUNDS, "writes"),
        measured(f"{name}: memory of the node, all live", held, "MiB"),
    ]


async def _memory_while_held(addresses: list[str], count: int, node: Node) -> float:
    targets = [f"{address}:{ports.SANDBOX_SESSIONS}" for address in addresses]
    async with SandboxPool(targets, TOKEN) as pool, contextlib.AsyncExitStack() as stack:
        for _ in range(count):
            opened = pool.session(PROGRAM, LIMITS, max_turns=4, wait_seconds=DEADLINE_SECONDS)
            session = await stack.enter_async_context(opened)
            await session.reset(1)
        return node.memory_mib()


def plain(apps: client.AppsV1Api, core: client.CoreV1Api, image: str, count: int, node: Node) -> list[Figure]:
    """One gVisor pod for each, made by a Deployment."""
    before, moment, began = node.memory_mib(), datetime.now(UTC), time.monotonic()
    apps.create_namespaced_deployment(NAMESPACE, deployment("plain", bare(image), count))
    until("plain pods are ready", lambda: len(ready_pods(core, "plain")) == count)
    seconds, held, writes = time.monotonic() - began, node.memory_mib() - before, node.writes_since(moment)
    _gone(apps, core, "plain")
    name = f"{count} plain gVisor pods"
    return [
        measured(f"{name}: from nothing", seconds, "s"),
        measured(f"{name}: API writes by the client", writes, "writes"),
        measured(f"{name}: memory of the node, all live", held, "MiB"),
    ]


def bare(image: str) -> dict[str, Any]:
    """A pod that runs Python and does nothing."""
    return pod(image, ["python3", "-c", "import time; time.sleep(10**6)"])


def claims(checkout: Path, kubeconfig: str, image: str, count: int, node: Node) -> list[Figure]:
    """Claims on a warm pool of as many pods as are claimed."""
    kubectl = ["kubectl", "--kubeconfig", kubeconfig]
    api = client.CustomObjectsApi()
    with tempfile.TemporaryDirectory(prefix="spade-peers-") as scratch:
        program = agent_sandbox.build(checkout, Path(scratch))
        with agent_sandbox.controller(checkout, program, kubectl, kubeconfig, Path(scratch) / "log"):
            before, began = node.memory_mib(), time.monotonic()
            agent_sandbox.fill_pool(api, NAMESPACE, bare(image), count)
            until("the warm pool is full", lambda: agent_sandbox.ready_in_pool(api, NAMESPACE) >= count)
            filled, held = time.monotonic() - began, node.memory_mib() - before
            moment, began = datetime.now(UTC), time.monotonic()
            agent_sandbox.claim(api, NAMESPACE, count)
            until("all claims have a sandbox", lambda: agent_sandbox.claims_ready(api, NAMESPACE) >= count)
            claimed, writes = time.monotonic() - began, node.writes_since(moment)
            for plural in agent_sandbox.KINDS:
                gone = [*kubectl, "delete", plural, "--all", "-n", NAMESPACE, "--wait=true"]
                subprocess.run(gone, check=True, capture_output=True)
    name = f"agent-sandbox, {count} claims"
    return [
        measured(f"{name}: its pool from nothing", filled, "s"),
        measured(f"{name}: its pool is full", claimed, "s"),
        measured(f"{name}: API writes of a hand-out", writes, "writes"),
        measured(f"{name}: memory of the node, all live", held, "MiB"),
    ]


def _gone(apps: client.AppsV1Api, core: client.CoreV1Api, name: str) -> None:
    apps.delete_namespaced_deployment(name, NAMESPACE)
    until("its pods are gone", lambda: not core.list_namespaced_pod(NAMESPACE, label_selector=f"of={name}").items)


@contextlib.contextmanager
def namespace(core: client.CoreV1Api) -> Iterator[None]:
    """A namespace of the benchmark's own."""
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    try:
        yield
    finally:
        core.delete_namespace(NAMESPACE)


def main() -> None:
    """Measure and write tests/bench/results/peers.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    home = Path(os.environ.get("SPADE_HOME", "/var/lib/spade"))
    parser.add_argument("--kubeconfig", default=str(home / "cluster" / "kubeconfig"))
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--agent-sandbox", type=Path, help="a checkout of kubernetes-sigs/agent-sandbox")
    arguments = parser.parse_args()
    config.load_kube_config(arguments.kubeconfig)
    apps, core = client.AppsV1Api(), client.CoreV1Api()
    tags = subprocess.run([ROOT / "cluster" / "images", "--tags"], check=True, capture_output=True, text=True).stdout
    image = dict(line.split("=", 1) for line in tags.split())["sandbox"]
    node = Node(home / "cluster" / "log" / "audit.log")
    with namespace(core):
        figures = spade(apps, core, image, arguments.count, node)
        figures += plain(apps, core, image, arguments.count, node)
        if arguments.agent_sandbox is not None:
            figures += claims(arguments.agent_sandbox, arguments.kubeconfig, image, arguments.count, node)
    for figure in figures:
        print(f"{figure.name}: {figure.value} {figure.unit}")
    peer, note = "", PUBLISHED
    if arguments.agent_sandbox is not None:
        peer = " --agent-sandbox CHECKOUT"
        note = f"agent-sandbox is commit {agent_sandbox.commit(arguments.agent_sandbox)}. {PUBLISHED}"
    write("peers", f"python -m tests.bench.peers{peer}", figures, note=note)


if __name__ == "__main__":
    main()
