"""The operator with 100 runs and up to 10,000 pods on pretended nodes: tests/bench/results/scale.json.

    python -m tests.bench.scale [--runs N] [--pods N ...]

A real API server, controllers, scheduler, kwok's nodes and the operator as it is shipped; one process answers for all
pods (tests/bench/beside/pretend_nodes.py). Needs root, Go, an hour, and a machine with nothing else to do. All share
the cores; memory and processor time are the operator's alone.
"""

import argparse
import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import aiohttp
import psutil
import yaml
from tests.bench.beside import operator_process as op
from tests.bench.beside.book import UNITS, Book
from tests.bench.beside.control_plane import (
    ROOT,
    ControlPlane,
    control_plane,
    enter_own_network,
    pretending_programs,
    require_all,
    running,
)
from tests.bench.beside.watching import Object, watch
from tests.bench.record import Figure, at_most, measured, percentile, write
from tests.support.children import RESOURCES

from spade_contracts.labels import GROUP, VERSION
from spade_operator.kube_config import Connection, read_kubeconfig

INSIDE = "--inside"
NAMESPACES = 10
NODES = 50
OTHERS_A_RUN = 4
"""Pods of a run beside its sandboxes: beacon, engine, learner, worker."""
ROLLOUTS = 8
HELD = 7
"""Plays of this rollout never end, so that all runs stay as they are."""
WORK_SECONDS = 15.0
REACH_SECONDS = 3600.0
IDLE_SECONDS = 60.0
SETTLE_SECONDS = 20.0
QUIET_SECONDS = 300.0
"""Rest before the largest size is measured at rest: pods whose word stays the same are asked less and less often."""
LARGEST = 10_000
"""Pods for which the bounds hold."""
EDITS = 200
EDIT_PAUSE_SECONDS = 0.2
MEMORY_POLL_SECONDS = 0.5
SETTLED_SECONDS = 5.0
FIRST, SECOND = "operator-a", "operator-b"
API = f"apis/{GROUP}/{VERSION}"


class Bench:
    """The running parts."""

    def __init__(self, plane: ControlPlane, connection: Connection, book: Book, site: Path) -> None:
        self.plane, self.book = plane, book
        self._connection, self._site = connection, site
        self.operator: subprocess.Popen[bytes]
        self.peak_mib = 0.0

    def start(self, stack: contextlib.ExitStack, identity: str) -> None:
        """Start an operator, which ends with the stack."""
        environment = op.environment(self.plane.server.kubeconfig, self._site, identity)
        self.operator = stack.enter_context(running("operator", op.command(), self.plane.folder, environment))

    async def until(
        self, what: str, look: Callable[[], bool], seconds: float = REACH_SECONDS, pause_seconds: float = 0.1
    ) -> float:
        """Wait; how long it took. Raises TimeoutError, or RuntimeError when a process ends."""
        began = time.monotonic()
        while not look():
            require_all({**self.plane.processes, "operator": self.operator})
            if time.monotonic() - began > seconds:
                raise TimeoutError(f"not within {seconds:.0f} s: {what}")
            await asyncio.sleep(pause_seconds)
        return time.monotonic() - began

    async def watch_memory(self) -> None:
        """Keep the highest figure, until cancelled."""
        while True:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.peak_mib = max(self.peak_mib, op.memory_mib(self.operator.pid))
            await asyncio.sleep(MEMORY_POLL_SECONDS)

    async def edit(self, namespace: str, name: str, spec: Object) -> int:
        """Change fields of a run's spec; the generation that this makes."""
        headers = {
            "Authorization": f"Bearer {self._connection.bearer()}",
            "Content-Type": "application/merge-patch+json",
        }
        url = f"{self._connection.server}/{API}/namespaces/{namespace}/spaderuns/{name}"
        connector = aiohttp.TCPConnector(ssl=self._connection.ssl_context() or True)
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.patch(url, data=json.dumps({"spec": spec}), headers=headers) as answer,
        ):
            answer.raise_for_status()
            return int((await answer.json())["metadata"]["generation"])

    def in_phase(self, phase: str) -> int:
        """Runs in a phase."""
        return sum(1 for run in self.book.runs.values() if run.get("status", {}).get("phase") == phase)

    def at_rollout(self, number: int) -> int:
        """Runs that play this rollout."""
        statuses = (run.get("status", {}) for run in self.book.runs.values())
        return sum(1 for status in statuses if (status.get("rollout"), status.get("phase")) == (number, "Playing"))

    def sandboxes(self) -> int:
        """Admitted sandbox pods."""
        return len(self.book.sandboxes)


def prepare_cluster(plane: ControlPlane) -> Path:
    """CRDs, RuntimeClass, namespaces with storage; returns the operator's site file."""
    for file in sorted((ROOT / "crds").glob("*.yaml")):
        applied(plane, *yaml.safe_load_all(file.read_text(encoding="utf-8")))
    applied(
        plane,
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "runsc"},
    )
    for name in ("spade-system", *(f"load-{number}" for number in range(NAMESPACES))):
        applied(plane, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for number in range(NAMESPACES):
        _bound_claim(plane, f"load-{number}")
    key = plane.folder / "key"
    key.write_bytes(b"k" * 32)
    targets = [{"kind": kind, "host": "192.0.2.1", "port": 1} for kind in ("api-server", "dns", "outside")]
    site = plane.folder / "site.json"
    site.write_text(json.dumps({
        "images": {name: f"spade/{name}:bench" for name in ("sandbox", "worker", "trainer")},
        "sandboxRuntimeClass": "gvisor", "operatorNamespace": "spade-system", "operatorLabels": {"app": "operator"},
        "resources": RESOURCES, "targets": targets, "installationKeyFile": str(key),
    }))  # fmt: skip
    return site


def applied(plane: ControlPlane, *objects: Object) -> None:
    """As kubectl applies them. Raises RuntimeError."""
    done = plane.server.kubectl(
        "apply", "--server-side", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    )
    if done.returncode:
        raise RuntimeError(done.stderr)


def _bound_claim(plane: ControlPlane, namespace: str) -> None:
    """Shared storage of a namespace, bound by hand: nobody here provisions volumes."""
    volume = f"volume-{namespace}"
    spec: Object = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    applied(
        plane,
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "spec": {
            **spec, "capacity": {"storage": "10Gi"}, "hostPath": {"path": "/nowhere"},
            "claimRef": {"namespace": namespace, "name": "shared"}}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {
            "name": "shared", "namespace": namespace, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
         "spec": {**spec, "resources": {"requests": {"storage": "10Gi"}}, "volumeName": volume}},
    )  # fmt: skip
    done = plane.server.kubectl(
        "patch", "pvc", "shared", "-n", namespace, "--subresource=status", "--type=merge", "-p",
        json.dumps({"status": {"phase": "Bound", "accessModes": ["ReadWriteMany"], "capacity": {"storage": "10Gi"}}}),
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)


def manifest(number: int, sandboxes: int) -> Object:
    """One SpadeRun."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "SpadeRun",
        "metadata": {"name": f"run-{number:03}", "namespace": f"load-{number % NAMESPACES}"},
        "spec": {
            "model": {"uri": "package:tiny"},
            "rollouts": ROLLOUTS,
            "environments": {"perCycle": 6},
            "history": {"envBatches": 100, "rolloutJobs": 100},
            "storage": {"claimName": "shared"},
            "sandbox": {"minPods": sandboxes, "maxPods": sandboxes},
        },
    }


async def edit_to_status(bench: Bench, names: Sequence[tuple[str, str]], edits: int) -> list[float]:
    """Seconds from an edit of a run's spec to a status of that generation, as an onlooker sees it."""
    sent: dict[tuple[str, str, int], float] = {}
    for number in range(edits):
        namespace, name = names[number % len(names)]
        generation = await bench.edit(namespace, name, {"sandbox": {"quietSeconds": 200 + number}})
        sent[namespace, name, generation] = time.monotonic()
        await asyncio.sleep(EDIT_PAUSE_SECONDS)
    await bench.until("all edits are in status", lambda: sent.keys() <= bench.book.generation_at.keys(), 120)
    return [max(0.0, bench.book.generation_at[key] - at) for key, at in sent.items()]


async def at_rest(bench: Bench, quiet_seconds: float) -> tuple[float, float, int]:
    """Cores, calls a second, and writes (without Leases) of the operator while nothing changes."""
    writes = -1
    while writes != (writes := op.read(bench.operator.pid).writes()):  # noqa: ASYNC110  # counted by another process
        await asyncio.sleep(SETTLE_SECONDS)
    await asyncio.sleep(quiet_seconds)
    before = op.read(bench.operator.pid)
    await asyncio.sleep(IDLE_SECONDS)
    after = op.read(bench.operator.pid)
    seconds = after.at - before.at
    cores, calls = (after.cpu_seconds - before.cpu_seconds) / seconds, after.all_calls() - before.all_calls()
    return cores, calls / seconds, after.writes() - before.writes()


async def of_size(bench: Bench, pods: int, names: Sequence[tuple[str, str]]) -> list[Figure]:
    """Grow every run to its share of so many pods, and measure there."""
    share = pods // len(names) - OTHERS_A_RUN
    bench.peak_mib = 0.0
    before, wanted = op.read(bench.operator.pid), share * len(names)
    for namespace, name in names:
        await bench.edit(namespace, name, {"sandbox": {"minPods": share, "maxPods": share}})
    took = await bench.until(f"{wanted} sandboxes are admitted", lambda: bench.sandboxes() >= wanted)
    after = op.read(bench.operator.pid)
    title, bound = f"{pods:,} pods", pods >= LARGEST
    cores, calls, writes = await at_rest(bench, QUIET_SECONDS if bound else 0)
    delays = await edit_to_status(bench, names, EDITS)
    grown = [
        measured(f"{title}: until all sandboxes are admitted", took, "s"),
        measured(f"{title}: cores meanwhile", (after.cpu_seconds - before.cpu_seconds) / max(took, 1), "cores"),
    ]
    return [
        *(grown if took > 1 else []),
        measured(f"{title}: edit of a spec to its status, p50", percentile(delays, 0.5), "s"),
        _bounded(bound, f"{title}: edit of a spec to its status, p99", percentile(delays, 0.99), "s", 1),
        _bounded(bound, f"{title}: memory, highest", bench.peak_mib, "MiB", 400),
        _bounded(bound, f"{title}: cores with nothing changing", cores, "cores", 0.05),
        measured(f"{title}: calls to the API server with nothing changing", calls, "a second"),
        at_most(f"{title}: writes in {IDLE_SECONDS:.0f} s with nothing changing, Leases excluded", writes, "writes", 0),
    ]


def _bounded(bound: bool, name: str, value: float, unit: str, limit: float) -> Figure:
    return at_most(name, value, unit, limit) if bound else measured(name, value, unit)


async def rollouts(bench: Bench, names: Sequence[tuple[str, str]]) -> list[Figure]:
    """Let all runs design, play and train five rollouts."""
    await bench.until("all runs design", lambda: bench.in_phase("Designing") == len(names))
    before = op.read(bench.operator.pid)
    bench.plane.go()
    took = await bench.until("all runs hold", lambda: bench.at_rollout(HELD) == len(names))
    after = op.read(bench.operator.pid)
    delays = bench.book.event_to_status(*UNITS)
    done = HELD * len(names)

    def written(*resources: str) -> float:
        return (after.writes(*resources) - before.writes(*resources)) / done

    return [
        measured("EnvBatches and RolloutJobs", len(bench.book.units), "objects"),
        measured(f"{done} rollouts of {len(names)} runs at once", took, "s"),
        measured("cores meanwhile", (after.cpu_seconds - before.cpu_seconds) / took, "cores"),
        measured("processor time for a rollout", (after.cpu_seconds - before.cpu_seconds) / done, "core-seconds"),
        measured("passes for a rollout, all kinds", (after.passes - before.passes) / done, "passes"),
        measured("calls to the API server meanwhile", (after.all_calls() - before.all_calls()) / took, "a second"),
        measured("end of a Job to its unit's status, p50", percentile(delays, 0.5), "s"),
        at_most("end of a Job to its unit's status, p99", percentile(delays, 0.99), "s", 1),
        *(
            measured(f"the same, {kind}, p99", percentile(bench.book.event_to_status(kind), 0.99), "s")
            for kind in UNITS
        ),
        at_most("writes to an EnvBatch", written("envbatches"), "writes", 3),
        measured("writes to a RolloutJob", written("rolloutjobs"), "writes"),
        at_most("writes for a rollout, all kinds", written(), "writes", 8),
    ]


async def restarted(bench: Bench, stack: contextlib.ExitStack, identity: str) -> float:
    """Kill the operator, start one of this identity: seconds until the last pass that was due, and the last write."""
    bench.operator.send_signal(signal.SIGKILL)
    bench.operator.wait()
    began = wrote_at = time.monotonic()
    bench.start(stack, identity)
    await bench.until("it answers", lambda: op.answers(bench.operator.pid), 120)
    kinds, writes = Counter(kind for kind, *_ in bench.book.units) + Counter({"SpadeRun": len(bench.book.runs)}), 0

    def settled() -> bool:
        nonlocal writes, wrote_at
        found = op.read(bench.operator.pid)
        if found.writes() > writes or any(found.passes_by_kind[kind] < count for kind, count in kinds.items()):
            writes, wrote_at = found.writes(), found.at
        return found.at - wrote_at > SETTLED_SECONDS

    await bench.until("steady after a restart", settled, pause_seconds=0.5)
    return wrote_at - began


async def restarts(bench: Bench, stack: contextlib.ExitStack) -> list[Figure]:
    """Restart the operator in its pod, and replace it by another."""
    bench.peak_mib = 0.0
    same, other = [await restarted(bench, stack, identity) for identity in (FIRST, SECOND)]
    return [
        at_most("kill of the operator to steady, its container restarted", same, "s", 30),
        measured("kill of the operator to steady, another takes its expired lease", other, "s"),
        at_most("memory after the restarts, highest", bench.peak_mib, "MiB", 400),
    ]


async def measure(plane: ControlPlane, site: Path, runs: int, sizes: Sequence[int]) -> list[Figure]:
    """Everything, in order."""
    connection = read_kubeconfig(plane.server.kubeconfig)
    with contextlib.ExitStack() as stack:
        bench = Bench(plane, connection, Book(), site)
        bench.start(stack, FIRST)
        await bench.until("the operator answers", lambda: op.answers(bench.operator.pid), 120)
        await asyncio.sleep(SETTLE_SECONDS)
        figures = [at_most("memory without objects", op.memory_mib(bench.operator.pid), "MiB", 150)]
        paths = (f"{API}/spaderuns", f"{API}/envbatches", f"{API}/rolloutjobs", "apis/batch/v1/jobs", "api/v1/pods")
        tasks = [
            asyncio.create_task(watch(connection, paths, bench.book.seen)),
            asyncio.create_task(bench.watch_memory()),
        ]
        try:
            wanted = [manifest(number, sizes[0] // runs - OTHERS_A_RUN) for number in range(runs)]
            names = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in wanted]
            applied(plane, *wanted)
            figures += show(await rollouts(bench, names))
            for size in sizes:
                figures += show(await of_size(bench, size, names))
            figures += show(await restarts(bench, stack))
            require_all(plane.processes)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return figures


def show(figures: list[Figure]) -> list[Figure]:
    """Print them as they come."""
    for figure in figures:
        print(f"{figure.name}: {figure.value:g} {figure.unit} ({figure.target or '-'})", flush=True)
    return figures


def main() -> None:
    """Measure and write tests/bench/results/scale.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--pods", type=int, nargs="+", default=[1_000, 3_000, 10_000])
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    pretending_programs()  # while there is a network to fetch them from
    enter_own_network(INSIDE, "tests.bench.scale")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that everything started is stopped
    with tempfile.TemporaryDirectory(prefix="spade-scale-") as scratch:
        folder = Path(scratch)
        with control_plane(folder, NODES) as plane:
            site = prepare_cluster(plane)
            command: list[str | Path] = [
                sys.executable, "-m", "tests.bench.beside.pretend_nodes", plane.server.kubeconfig, 
                str(WORK_SECONDS), str(HELD), plane.go_file,
            ]  # fmt: skip
            with running("nodes", command, folder) as nodes:
                whole = replace(plane, processes={**plane.processes, "nodes": nodes})
                try:
                    figures = asyncio.run(measure(whole, site, arguments.runs, arguments.pods))
                except (TimeoutError, RuntimeError) as error:
                    logs = "\n".join(
                        f"== {log.name}\n{log.read_text()[-3000:]}" for log in sorted(folder.glob("*.log"))
                    )
                    raise SystemExit(f"{error}\n{logs}") from error
    write(
        "scale",
        "python -m tests.bench.scale",
        figures,
        note=f"{arguments.runs} runs with cycles of the default length; API server, controllers, scheduler, kwok and "
        "the operator share the cores. "
        f"Work takes {WORK_SECONDS:.0f} to {3 * WORK_SECONDS:.0f} s. "
        f"At rest: nothing was written for {SETTLE_SECONDS:.0f} s, with the most pods for {QUIET_SECONDS:.0f} s more. "
        "A negative time to a unit's status: workers tell the operator before their Job is over. "
        f"Steady: every object has had a pass, and {SETTLED_SECONDS:.0f} s went by without a write after the last one.",
    )


if __name__ == "__main__":
    main()
