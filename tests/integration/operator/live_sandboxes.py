"""Sandbox pods of a pretended cluster as real processes: real sessions, real capacity, real drain.

Only what gVisor and the network policies would show is pretended, because the operator admits no pod without it.
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel
from tests.integration.operator.pretend_answers import Pod
from tests.support.sandbox_pods import RunningPod, pod_in_namespaces

from spade_contracts import labels
from spade_contracts.statuses import SandboxStatus
from spade_operator.kube import Object

SPARES = 1


@dataclass
class Process:
    """What runs, or is being started, for one pod."""

    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    starting: "asyncio.Task[RunningPod] | None" = None
    told_at: float | None = None
    """When it was told to stop."""

    @property
    def running(self) -> RunningPod | None:
        """The process once it serves."""
        task = self.starting
        return task.result() if task is not None and task.done() and not task.cancelled() else None


class LiveSandboxes:
    """The processes, by their pods; what a kubelet does for them, and the cluster's DNS."""

    def __init__(self) -> None:
        self._processes: dict[str, Process] = {}

    def begin(self, pod: Pod) -> None:
        """Start the pod's process; it serves a little later."""
        container = pod.raw["spec"]["containers"][0]
        settings = {item["name"]: item.get("value", "") for item in container["env"]}
        process = self._processes[pod.raw["metadata"]["uid"]] = Process()
        made = pod_in_namespaces(capacity=settings["SPADE_SANDBOX_CAPACITY"], spares=SPARES)
        process.starting = asyncio.create_task(asyncio.to_thread(process.stack.enter_context, made))

    async def says(self, pod: Pod, pretended: BaseModel) -> SandboxStatus | None:
        """The process's own status with the pretended proof; None while it does not serve."""
        process = self._processes.get(pod.raw["metadata"]["uid"])
        running = process.running if process is not None else None
        if running is None:
            return None
        own = await asyncio.to_thread(running.status)
        assert isinstance(pretended, SandboxStatus)
        return own.model_copy(update={"probe": pretended.probe})

    def left(self, raw: Object) -> bool:
        """Whether the process of a deleted pod has ended. It is told to first, and killed when its grace is over."""
        process = self._processes.get(raw["metadata"]["uid"])
        running = process.running if process is not None else None
        if process is None or running is None:
            return process is None or process.starting is None
        if running.process.poll() is not None:
            return True
        if process.told_at is None:
            process.told_at = time.monotonic()
            running.signal(signal.SIGTERM)
        elif time.monotonic() - process.told_at > raw["metadata"]["deletionGracePeriodSeconds"]:
            running.signal(signal.SIGKILL)
        return False

    def addresses(self, pods: Sequence[Object]) -> set[tuple[str, int]]:
        """What the headless Service resolves to: pods that are ready and not going."""
        found = set()
        for raw in pods:
            process = self._processes.get(raw["metadata"]["uid"])
            running = process.running if process is not None else None
            if running is not None and "deletionTimestamp" not in raw["metadata"] and _is_admitted(raw):
                found.add(("127.0.0.1", running.session_port))
        return found

    async def close(self) -> None:
        """End every process that is left."""
        for process in self._processes.values():
            if process.starting is not None:
                await asyncio.gather(process.starting, return_exceptions=True)
            await asyncio.to_thread(process.stack.close)


def _is_admitted(raw: Object) -> bool:
    conditions = raw["status"].get("conditions", [])
    return any(c["type"] == labels.ISOLATED_GATE and c["status"] == "True" for c in conditions)
