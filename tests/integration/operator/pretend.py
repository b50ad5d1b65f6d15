"""A cluster without nodes for the operator's tests: controllers, kubelet, and every process of a run, in one loop.

The API server is real, and there is no garbage collector. Deployments and Jobs get pods here, pods get loopback
addresses and status ports, and learner, engines, workers, sandboxes and beacon answer as the real ones do
(pretend_answers.py). Nothing here knows what the operator will do.
"""

import asyncio
import secrets
from collections import Counter
from typing import Any

from aiohttp import web
from tests.integration.operator.live_sandboxes import LiveSandboxes
from tests.integration.operator.pretend_answers import ANSWERS, EPISODES, Pod, World
from tests.integration.operator.pretend_containers import all_ended, all_running, container_names, one_ended
from tests.integration.operator.pretend_marks import now, owner_of, role_of, unschedulable, without_image, worth
from tests.support.schedules import WordFault, WordTrouble

from spade_contracts import labels, ports
from spade_contracts.statuses import (
    DesignSummary,
    EngineProof,
    LearnerTarget,
    Outcome,
    PlaySummary,
    PrepareResult,
    ProofResult,
    ScoreDistribution,
    VerifySummary,
)
from spade_contracts.tokens import Door, derive_token
from spade_operator.children.resources import amount
from spade_operator.kube import Conflict, Kube, NamespaceEnding, NotFound, Object, Unavailable
from spade_operator.records import Kind

TICK_SECONDS = 0.05
Pods = tuple[Object, ...]
"""As they were listed at the beginning of a tick."""


class PretendCluster:
    """Plays everything but the API server and the operator, in one namespace."""

    def __init__(self, kube: Kube, namespace: str, key: bytes, subnet: int, tick_seconds: float = TICK_SECONDS) -> None:
        self.kube, self.namespace, self.key, self.subnet = kube, namespace, key, subnet
        self.tick_seconds = tick_seconds
        self.world = World()
        self.live: LiveSandboxes | None = None
        """Real processes of the sandbox pods, if there are any."""
        self.listed: Pods = ()
        self._next = 1
        self._born: Counter[str] = Counter()

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                pods = self.listed = (await self.kube.list(Kind.POD, self.namespace)).items
                for part in (self._deployments, self._jobs, self._pods):
                    try:
                        await part(pods)
                    except (Conflict, NotFound, NamespaceEnding, Unavailable):
                        continue
                await asyncio.sleep(self.tick_seconds)
        finally:
            for pod in self.world.pods.values():
                if pod.runner is not None:
                    await pod.runner.cleanup()
            if self.live is not None:
                await self.live.close()

    def of_role(self, role: str) -> list[Pod]:
        """Pods of a role that run."""
        return [pod for pod in self.world.pods.values() if pod.role == role]

    async def kill(self, pod: Pod, code: int = 137, disruption: str = "") -> None:
        """The pod's process dies; Jobs see a failed pod, Deployments a restarted container.

        disruption: reason of the pod's condition DisruptionTarget, if its node or the scheduler took it away.
        """
        if pod.part:
            await self.kill_container(pod, pod.part, code)
            return
        self.world.died[pod.role] += 1
        if disruption:
            mark = {"type": "DisruptionTarget", "status": "True", "reason": disruption, "lastTransitionTime": now()}
            await self._set_status(pod, {"conditions": [mark]})
        if pod.role in ("learner", "worker", "prepare"):
            await self._ended(pod, code, "")
        else:
            pod.restarts, pod.boot_id, pod.version = pod.restarts + 1, secrets.token_hex(8), None
            await self._running(pod)

    async def kill_container(self, pod: Pod, name: str, code: int = 137) -> None:
        """One of two containers ends, and the pod runs on: it is of a Job, which restarts none."""
        self.world.died[pod.group] += 1
        await self._set_status(pod, {"containerStatuses": one_ended(pod, name, code)})
        await self._stop(f"{pod.raw['metadata']['uid']}/{name}")

    async def evict(self, pod: Pod) -> None:
        """The pod goes with its object."""
        self.world.died[pod.group] += 1
        await self._delete(pod.raw)

    # Controllers

    async def _deployments(self, pods: Pods) -> None:
        listed = await self.kube.list(Kind.DEPLOYMENT, self.namespace)
        for item in listed.items if not self.world.others_scale else ():
            uid, wanted = item["metadata"]["uid"], item["spec"].get("replicas", 1)
            own = [p for p in pods if owner_of(p) == uid and "deletionTimestamp" not in p["metadata"]]
            for _ in range(wanted - len(own)):
                await self._make_pod(item, f"{item['metadata']['name']}-{secrets.token_hex(3)}", "Deployment")
            for pod in sorted(own, key=worth)[: max(0, len(own) - wanted)]:
                await self._delete(pod, grace_seconds=0 if self.live is None else None)

    async def _jobs(self, pods: Pods) -> None:
        for job in (await self.kube.list(Kind.JOB, self.namespace)).items:
            if any(c["status"] == "True" for c in job.get("status", {}).get("conditions", [])):
                continue
            own = [p for p in pods if owner_of(p) == job["metadata"]["uid"]]
            wanted, failed, done = job["spec"]["completions"], 0, 0
            for index in range(wanted):
                mine = [
                    p for p in own if p["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == str(index)
                ]
                failed += sum(1 for p in mine if p["status"].get("phase") == "Failed")
                done += any(p["status"].get("phase") == "Succeeded" for p in mine)
                live = any(p["status"].get("phase") != "Failed" for p in mine)
                if not live and failed <= job["spec"]["backoffLimit"]:
                    await self._make_pod(job, f"{job['metadata']['name']}-{index}-{secrets.token_hex(3)}", "Job", index)
            if done == wanted:
                await self._end_job(job, "Complete", "SuccessCriteriaMet", done, failed)
            elif failed > job["spec"]["backoffLimit"]:
                await self._end_job(job, "Failed", "FailureTarget", done, failed)

    async def _end_job(self, job: Object, kind: str, before: str, succeeded: int, failed: int) -> None:
        ended_at = now()
        marks = [
            {
                "type": t,
                "status": "True",
                "reason": kind,
                "message": "",
                "lastTransitionTime": ended_at,
                "lastProbeTime": ended_at,
            }
            for t in (before, kind)
        ]
        status: Object = {
            "startTime": job["metadata"]["creationTimestamp"], "conditions": marks, "succeeded": succeeded,
            "failed": failed, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {},
        }  # fmt: skip
        if kind == "Complete":
            status |= {
                "completionTime": ended_at,
                "completedIndexes": ",".join(map(str, range(job["spec"]["completions"]))),
            }
        await self.kube.update(job | {"kind": "Job", "apiVersion": "batch/v1", "status": status}, part="status")

    async def _make_pod(self, owner: Object, name: str, kind: str, index: int | None = None) -> None:
        present = await self.kube.get(Kind(kind), self.namespace, owner["metadata"]["name"])
        if present["metadata"]["uid"] != owner["metadata"]["uid"]:
            return  # the owner went since it was listed, and nobody here collects orphans
        template = owner["spec"]["template"]
        marks, spec = dict(template["metadata"]["labels"]), dict(template["spec"])
        if kind == "Job":
            marks |= {"batch.kubernetes.io/job-name": owner["metadata"]["name"],
                      "batch.kubernetes.io/job-completion-index": str(index)}  # fmt: skip
        spec.pop("runtimeClassName", None)
        reference = {"apiVersion": "batch/v1" if kind == "Job" else "apps/v1", "kind": kind, "controller": True,
                     "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}  # fmt: skip
        await self.kube.create({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace, "labels": marks, "ownerReferences": [reference],
                         "annotations": template["metadata"].get("annotations", {})},
            "spec": spec | {"nodeName": "pretend-node"},
        })  # fmt: skip

    # Kubelet

    async def _pods(self, listed: Pods) -> None:
        loop = asyncio.get_running_loop()
        for raw in listed:
            uid = raw["metadata"]["uid"]
            if "deletionTimestamp" in raw["metadata"]:
                if self.live is not None and not self.live.left(raw):
                    continue
                await self._stop(uid)
                await self._delete(raw)
            elif uid in self.world.pods or raw["status"].get("phase") != "Pending":
                continue
            elif role_of(raw) == self.world.no_room_for:
                await self._waits(raw, unschedulable())
            elif role_of(raw) == self.world.no_image_for:
                await self._waits(raw, without_image(raw))
            else:
                pod = Pod(raw, f"127.{self.subnet}.{self._next // 250}.{self._next % 250 + 2}", born=loop.time())
                self._next += 1
                await self._running(pod)
                self._born[pod.role] += 1
                pod.number = self._born[pod.role]
                self.world.pods[uid] = pod
                await self._start(pod)
                if pod.role == "learner" and "engine" in container_names(raw):
                    self._born["engine"] += 1
                    beside = Pod(raw, pod.ip, born=loop.time(), number=self._born["engine"], part="engine")
                    self.world.pods[f"{uid}/engine"] = beside
                    await self._start(beside)
        present = {raw["metadata"]["uid"] for raw in listed}
        for uid in [uid for uid in self.world.pods if uid.partition("/")[0] not in present]:
            await self._stop(uid)
        for uid in list(self.world.pods):
            playing = self.world.pods.get(uid)
            if playing is not None:  # else it ended in this tick, with the container beside it
                await self._live(playing, loop.time() - playing.born)

    async def _live(self, pod: Pod, age: float) -> None:
        """What the pod's process does by itself."""
        death = next((d for d in self.world.deaths if (d.role, d.nth) == (pod.role, pod.number)), None)
        if death is not None and age >= death.age_seconds:
            self.world.deaths = tuple(d for d in self.world.deaths if d is not death)
            await (self.evict(pod) if death.evicted else self.kill(pod))
        elif pod.role == "prepare" and pod.task["kind"] == "cleanup":
            where = pod.task["run"]["storage_uri"]
            await self._ended(pod, 1 if self.world.fail_cleanup else 0, where)
            self.world.cleaned += [] if self.world.fail_cleanup else [where]
        elif pod.role == "prepare":
            message = PrepareResult(
                accepted=self.world.accepted, reason="" if self.world.accepted else "ModelNotMoe",
                message="" if self.world.accepted else "The model has no experts.", model_parameters=3, model_experts=8,
            )  # fmt: skip
            await self._ended(pod, 0, message.model_dump_json())
        elif pod.role == "worker" and age > self.world.work_seconds:
            await self._finish_work(pod)
        elif pod.role == "learner" and pod.target is not None:
            limits = pod.raw["spec"]["containers"][0]["resources"]["limits"]
            if self.world.crash_learner:
                await self._ended(pod, 139, "")
            elif amount(limits["memory"]) < amount(self.world.learner_needs):
                await self._ended(pod, 137, "", "OOMKilled")
            elif self.world.not_finite and pod.target.policy_version > 0:
                return
            else:
                self._train_and_prove(pod, pod.target)

    async def _finish_work(self, pod: Pod) -> None:
        task, done = pod.task, {"design": self.world.designed, "play": self.world.played}.get(pod.task["kind"])
        if task["kind"] == "design" and self.world.false_accepts:
            done = None
            summary: Any = DesignSummary(
                cycle=task["cycle"], requested=6, attempts=0, accepted=0, seconds=1.0, tokens=0,
                canaries={"bad": 4, "good": 4, "false_accepts/order": self.world.false_accepts},
                let_through=("first_step_is_enough",), storage_uri=task["run"]["storage_uri"],
            )  # fmt: skip
        elif task["kind"] == "design" and self.world.reject_all:
            summary = DesignSummary(
                cycle=task["cycle"], requested=6, attempts=8, accepted=0, rejected={"parse/syntax": 8}, seconds=1.0,
                canaries={"bad": 4, "good": 4}, tokens=10, storage_uri=task["run"]["storage_uri"],
            )  # fmt: skip
        elif task["kind"] == "design":
            summary = DesignSummary(
                cycle=task["cycle"], requested=6, attempts=8, accepted=6, rejected={"parse/syntax": 2}, seconds=1.0,
                canaries={"bad": 4, "good": 4}, tokens=10, storage_uri=task["run"]["storage_uri"],
            )  # fmt: skip
        elif self.world.hold_play:
            return
        elif task["kind"] == "verify":
            summary = VerifySummary(
                programs=8, accepted=5, rejected={"controls/wins_by_null": 2, "parse/syntax": 1}, diversity=0.75,
                mutation_scores=ScoreDistribution(
                    programs=5, mean=0.5, minimum=0.25, lower_quartile=0.4, median=0.5, upper_quartile=0.6, maximum=1.0
                ),
                seconds=1.0, storage_uri=f"{task['run']['storage_uri']}/verifications/abc",
            )  # fmt: skip
            self.world.verified.append(task["programs_uri"])
        else:
            summary = PlaySummary(
                rollout=task["rollout"], planned=EPISODES, outcomes={Outcome.SCORED: 11, Outcome.TRUNCATED: 1},
                hinted=4, hinted_outcomes={Outcome.SCORED: 4}, learnable_fraction=self.world.learnable_fraction,
                mean_return=0.25, tokens=10, seconds=1.0, verifier_failures={"success_with_error": 1},
                storage_uri=task["run"]["storage_uri"],
            )  # fmt: skip
        await self._ended(pod, 0, summary.model_dump_json())
        if done is not None:
            done.append(task["cycle" if done is self.world.designed else "rollout"])

    def _train_and_prove(self, learner: Pod, target: LearnerTarget) -> None:
        if learner.version is None or learner.version < target.policy_version:
            learner.version = target.policy_version
            if target.policy_version > 0 and target.policy_version not in self.world.trained:
                self.world.trained.append(target.policy_version)
        engines = {pod.ip: pod for pod in self.of_role("engine")}
        for wanted in target.engines:
            engine = engines.get(wanted.host)
            if engine is None:
                continue
            known = learner.proofs.get(wanted.name)
            if known is None or (known.boot_id, known.policy_version) != (engine.boot_id, target.policy_version):
                fits = not self.world.wrong_weights
                engine.version = target.policy_version if fits else None
                learner.proofs[wanted.name] = EngineProof(
                    name=wanted.name, boot_id=engine.boot_id, policy_version=target.policy_version,
                    result=ProofResult.VERIFIED if fits else ProofResult.MISMATCH,
                    detail="" if fits else "0.4 nats off",
                )  # fmt: skip

    async def _start(self, pod: Pod) -> None:
        """Listen on the role's status port, and for the learner on its control port."""
        if pod.role not in ANSWERS:
            return
        port, say = ANSWERS[pod.role]
        live = self.live if pod.role == "sandbox" else None
        if live is not None:
            live.begin(pod)

        async def status(request: web.Request) -> web.Response:
            answer = say(self.world, pod) if live is None else await live.says(pod, say(self.world, pod))
            if answer is None:
                return web.Response(status=503)
            text, before = answer.model_dump_json(), pod.said
            pod.said = text
            self.world.answers[pod.role] += 1
            which = (pod.role, self.world.answers[pod.role])
            match next((word for word in self.world.words if (word.role, word.nth) == which), None):
                case WordTrouble(WordFault.LATE, seconds=seconds):
                    await asyncio.sleep(seconds)
                case WordTrouble(WordFault.REPEATED):
                    text = before or text
                case WordTrouble(WordFault.REFUSED):
                    return web.Response(status=500)
                case WordTrouble(WordFault.NONSENSE):
                    text = text[: len(text) // 2]
            return web.Response(text=text, content_type="application/json")

        async def target(request: web.Request) -> web.Response:
            run_uid = pod.raw["metadata"]["labels"][labels.RUN_UID]
            token = derive_token(self.key, run_uid, Door.LEARNER_CONTROL)
            if request.headers.get("Authorization") != f"Bearer {token}":
                return web.Response(status=401)
            pod.target = LearnerTarget.model_validate_json(await request.text())
            self.world.targets.append(pod.target.policy_version)
            return web.Response(text="{}")

        app = web.Application()
        app.router.add_get("/status", status)
        app.router.add_put("/target", target)
        pod.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await pod.runner.setup()
        await web.TCPSite(pod.runner, pod.ip, port).start()
        if pod.role == "learner":
            await web.TCPSite(pod.runner, pod.ip, ports.LEARNER_CONTROL).start()

    # Pod status

    async def _running(self, pod: Pod) -> None:
        await self._set_status(pod, all_running(pod))

    async def _waits(self, raw: Object, status: Object) -> None:
        """The pod does not start, and says why."""
        if not raw["status"].get("containerStatuses") and len(raw["status"].get("conditions", [])) == 0:
            await self.kube.patch(Kind.POD, self.namespace, raw["metadata"]["name"], {"status": status}, part="status")

    async def _ended(self, pod: Pod, code: int, message: str, reason: str = "Error") -> None:
        await self._set_status(pod, all_ended(pod, code, message, reason))
        await self._stop(pod.raw["metadata"]["uid"], keep=True)
        await self._stop(f"{pod.raw['metadata']['uid']}/engine")
        pod.raw["metadata"]["labels"] = pod.raw["metadata"]["labels"] | {labels.ROLE: "ended"}

    async def _set_status(self, pod: Pod, status: Object) -> None:
        await self.kube.patch(Kind.POD, self.namespace, pod.name, {"status": status}, part="status")

    async def _stop(self, uid: str, *, keep: bool = False) -> None:
        pod = self.world.pods.get(uid)
        if pod is not None and pod.runner is not None:
            await pod.runner.cleanup()
            pod.runner = None
        if not keep:
            self.world.pods.pop(uid, None)
            if "/" not in uid:
                await self._stop(f"{uid}/engine")

    async def _delete(self, raw: Object, grace_seconds: int | None = 0) -> None:
        meta = raw["metadata"]
        await self.kube.delete(Kind.POD, self.namespace, meta["name"], uid=meta["uid"], grace_seconds=grace_seconds)
