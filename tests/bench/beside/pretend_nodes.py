"""What runs on pretended nodes: one process answers for those of ten thousand pods, and ends those of Jobs.

    python -m tests.bench.beside.pretend_nodes KUBECONFIG WORK_SECONDS HOLD_FROM GO_FILE

Pods have loopback addresses; a listener on all of them tells by the address that was called which pod is meant.
Preparation and workers end after one to three times WORK_SECONDS with the last words that real ones leave; plays of
rollout HOLD_FROM and later never do, and no worker does before GO_FILE exists.
"""

import asyncio
import sys
import time
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web
from pydantic import BaseModel
from tests.bench.beside.watching import watch
from tests.integration.operator.pretend_answers import EPISODES, Pod, World, beacon, engine, learner, sandbox, worker

from spade_contracts import labels, ports
from spade_contracts.errors import SpadeError
from spade_contracts.statuses import (
    DesignSummary,
    EngineProof,
    LearnerTarget,
    Outcome,
    PlaySummary,
    PrepareResult,
    ProofResult,
)
from spade_operator.kube import Kube, Object
from spade_operator.kube_config import read_kubeconfig
from spade_operator.records import Kind

LOOK_SECONDS = 0.5
AT_ONCE = 16
ENDED_HERE = f"api/v1/pods?labelSelector={quote(f'{labels.ROLE} in (prepare,worker,beacon)')}"
WORLD = World()
SANDBOX_BOOT = "0123456789abcdef"


class Nodes:
    """The processes of all pods, made when they are first asked."""

    def __init__(self, kube: Kube, work_seconds: float, hold_from: int, go: Path) -> None:
        self._kube, self._work_seconds, self._hold_from, self._go = kube, work_seconds, hold_from, go
        self._pods: dict[str, Pod] = {}
        """By address; pods of Jobs and beacons only once they were listed."""
        self._since: dict[str, float] = {}
        self._ours: dict[str, Object] = {}
        """By UID: running pods that are ended here, and beacons."""
        self._slots = asyncio.Semaphore(AT_ONCE)

    def seen(self, event: str, raw: Object, _: float) -> None:
        """A pod as the API server has it now."""
        uid = raw["metadata"]["uid"]
        if event == "DELETED" or raw["status"].get("phase") != "Running":
            self._ours.pop(uid, None)
        else:
            self._ours[uid] = raw

    async def run(self) -> None:
        """End what is due, until cancelled."""
        while True:
            await asyncio.gather(*(self._look(raw) for raw in tuple(self._ours.values())))
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, raw: Object) -> None:
        address, uid = raw["status"].get("podIP", ""), raw["metadata"]["uid"]
        if not address or raw["status"].get("phase") != "Running" or "deletionTimestamp" in raw["metadata"]:
            return
        pod = self._pods.get(address)
        if pod is None or pod.raw["metadata"]["uid"] != uid:
            pod = self._pods[address] = Pod(raw, address)
        began = self._since.setdefault(uid, time.monotonic())
        if pod.role == "beacon" or time.monotonic() - began < self._work_seconds * _share(uid):
            return
        message = self._last_words(pod)
        if message is not None:
            async with self._slots:
                await self._end(raw, message.model_dump_json())

    def _last_words(self, pod: Pod) -> BaseModel | None:
        if pod.role == "prepare":
            return PrepareResult(accepted=True, model_parameters=3, model_experts=8)
        task: dict[str, Any] = pod.task
        if not self._go.exists():
            return None
        if task["kind"] == "design":
            return DesignSummary(
                cycle=task["cycle"], requested=6, attempts=8, accepted=6, rejected={"parse/syntax": 2}, seconds=1.0,
                canaries={"bad": 4, "good": 4}, tokens=10, storage_uri=task["run"]["storage_uri"],
            )  # fmt: skip
        if task["rollout"] >= self._hold_from:
            return None
        return PlaySummary(
            rollout=task["rollout"], planned=EPISODES, outcomes={Outcome.SCORED: EPISODES}, hinted=4,
            hinted_outcomes={Outcome.SCORED: 4}, learnable_fraction=0.5, mean_return=0.25, tokens=10, seconds=1.0,
            storage_uri=task["run"]["storage_uri"],
        )  # fmt: skip

    async def _end(self, raw: Object, message: str) -> None:
        meta, now = raw["metadata"], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        state = {"terminated": {"exitCode": 0, "reason": "Completed", "message": message, "startedAt": now,
                                "finishedAt": now}}  # fmt: skip
        containers = [
            {"name": c["name"], "image": c["image"], "imageID": "", "restartCount": 0, "ready": False, "state": state}
            for c in raw["spec"]["containers"]
        ]
        conditions = [
            {"type": kind, "status": "False", "reason": "PodCompleted", "lastTransitionTime": now}
            for kind in ("Ready", "ContainersReady")
        ]
        status = {"phase": "Succeeded", "containerStatuses": containers, "conditions": conditions}
        patch: Object = {"metadata": {"uid": meta["uid"]}, "status": status}
        try:
            await self._kube.patch(Kind.POD, meta["namespace"], meta["name"], patch, part="status")
        except SpadeError as error:
            print(error, file=sys.stderr, flush=True)

    # Answers

    async def once_proven(self, request: web.Request) -> web.Response:
        """Sandboxes; all at one boot, because a busy kwok gives some pods a second address."""
        return _json(sandbox(WORLD, Pod({}, _address(request), boot_id=SANDBOX_BOOT)))

    async def of_workers(self, request: web.Request) -> web.Response:
        """Beacons and workers share a port."""
        pod = self._pods.get(_address(request))
        if pod is None:
            return web.Response(status=503)
        return _json(beacon(WORLD, pod) if pod.role == "beacon" else worker(WORLD, pod))

    async def of_engines(self, request: web.Request) -> web.Response:
        """Engines serve what the learner has handed them."""
        return _json(engine(WORLD, self._pod(request)))

    async def of_learners(self, request: web.Request) -> web.Response:
        """Learners reach their target at once."""
        return _json(learner(WORLD, self._pod(request)))

    async def take_target(self, request: web.Request) -> web.Response:
        """Train to the target and prove it in every engine."""
        pod, target = self._pod(request), LearnerTarget.model_validate_json(await request.text())
        pod.target = target
        pod.version = max(pod.version or 0, target.policy_version)
        for wanted in target.engines:
            served = self._pods.setdefault(str(wanted.host), Pod({}, str(wanted.host)))
            served.version = target.policy_version
            pod.proofs[wanted.name] = EngineProof(
                name=wanted.name, boot_id=served.boot_id, policy_version=target.policy_version,
                result=ProofResult.VERIFIED,
            )  # fmt: skip
        return web.Response(text="{}")

    def _pod(self, request: web.Request) -> Pod:
        return self._pods.setdefault(_address(request), Pod({}, _address(request)))


def _share(uid: str) -> float:
    """Between 1 and 3, by the UID: a hundred runs that start together must not stay in step."""
    return 1.0 + 2.0 * zlib.crc32(uid.encode()) / 2**32


def _address(request: web.Request) -> str:
    assert request.transport is not None
    return str(request.transport.get_extra_info("sockname")[0])


def _json(status: BaseModel) -> web.Response:
    return web.Response(text=status.model_dump_json(), content_type="application/json")


async def serve(kubeconfig: Path, work_seconds: float, hold_from: int, go: Path) -> None:
    """Answer and end until killed."""
    kube = Kube(read_kubeconfig(kubeconfig))
    nodes = Nodes(kube, work_seconds, hold_from, go)
    answers = {
        ports.SANDBOX_STATUS: nodes.once_proven,
        ports.WORKER_STATUS: nodes.of_workers,
        ports.ENGINE_STATUS: nodes.of_engines,
        ports.LEARNER_STATUS: nodes.of_learners,
    }
    for port, answer in answers.items():
        app = web.Application()
        app.router.add_get("/status", answer)
        await _listen(app, port)
    control = web.Application()
    control.router.add_put("/target", nodes.take_target)
    await _listen(control, ports.LEARNER_CONTROL)
    await asyncio.gather(nodes.run(), watch(read_kubeconfig(kubeconfig), [ENDED_HERE], nodes.seen))


async def _listen(app: web.Application, port: int) -> None:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", port, backlog=1024).start()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
