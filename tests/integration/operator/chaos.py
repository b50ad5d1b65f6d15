"""One run of the operator through one schedule of trouble, and what is wrong afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.integration.operator.conftest import Stage, condition, staged, within
from tests.integration.operator.invariants import Limits, Replay, deleting, is_true, owner_of
from tests.integration.operator.pretend_answers import World
from tests.integration.operator.witness import Witness
from tests.support.api_server import ApiServer
from tests.support.faulty_proxy import FaultyProxy
from tests.support.operators import Operators
from tests.support.schedules import Schedule, WatchFault

from spade_contracts.labels import RUN
from spade_operator.kube import Object
from spade_operator.records import Kind

ROLLOUTS, CYCLE_LENGTH, MAX_SANDBOXES, NODES, BUDGET = 3, 2, 2, 2, 3
KEPT = 1
"""EnvBatches and RolloutJobs that `history` keeps."""
TICK_SECONDS = 0.15
SECONDS = 400.0
"""A schedule that takes longer has come to a standstill."""
COMPUTE = (Kind.POD, Kind.JOB, Kind.DEPLOYMENT)


@dataclass
class Outcome:
    """What came of a schedule."""

    schedule: Schedule
    troubles: list[str]
    breaches: list[str]
    operators: int
    log: str
    run: Object

    def __str__(self) -> str:
        status = json.dumps(self.run.get("status"), indent=1)
        troubles = "\n".join(self.troubles)
        breaches = "\n".join(self.breaches)
        return (
            f"{self.schedule}\n\nwhat came to be ({self.operators} operators):\n{troubles}\n\nbreaches:\n{breaches}\n\n"
            f"{status}\n{self.log[-6000:]}"
        )


async def play(server: ApiServer, rights: str, folder: Path, schedule: Schedule) -> Outcome:
    """Let a run live through the schedule. The folder is there and empty."""
    async with staged(server, rights, folder) as stage:
        operators = Operators(lambda number: environment(stage, schedule, number), stage.log)
        proxy = FaultyProxy(server, schedule, operators.kill)
        witness = Witness(server, stage.kube, stage.namespace)
        stage.cluster.tick_seconds = TICK_SECONDS
        world = stage.cluster.world
        world.deaths, world.words, world.sessions_wanted = schedule.deaths, schedule.words, schedule.sessions_wanted
        async with witness.watching(), proxy.listening():
            stage.kubeconfig = through(stage.kubeconfig, proxy.url)
            async with operators.running():
                await create(stage, schedule)
                ended = await within(SECONDS, lambda: settled(stage, schedule))
            run = await stage.run()
            limits = Limits(ROLLOUTS, MAX_SANDBOXES, 1, {"learner": NODES}, budgets(schedule))
            breaches = [] if ended else [f"the run is not complete after {SECONDS:.0f} s"]
            breaches += Replay(limits).broken(await witness.history())
            breaches += at_end(run, world, schedule)
            breaches += [breach async for breach in left_over(stage, run)] if ended else []
        log = stage.log.read_text()
        breaches += in_process(operators, schedule, log)
    return Outcome(schedule, proxy.done, breaches, operators.started, log, run)


def budgets(schedule: Schedule) -> dict[str, int]:
    """Restarts that the run allows, by role."""
    return {"learner": schedule.learner_restarts, "engine": BUDGET, "sandbox": BUDGET}


async def create(stage: Stage, schedule: Schedule) -> None:
    """The run: two cycles, three rollouts."""
    allowed = budgets(schedule)
    await stage.create_run(
        rollouts=ROLLOUTS,
        environments={"cycleLength": CYCLE_LENGTH, "perCycle": 6},
        history={"envBatches": KEPT, "rolloutJobs": KEPT},
        learner={"restarts": allowed["learner"], "nodes": NODES},
        engine={"restarts": allowed["engine"], "replicas": NODES if schedule.colocated else 1},
        placement="Colocated" if schedule.colocated else "Disaggregated",
        sandbox={
            "restarts": allowed["sandbox"],
            "minPods": 1,
            "maxPods": MAX_SANDBOXES,
            "sessionsPerPod": 8,
            "quietSeconds": 1,
        },
    )


def environment(stage: Stage, schedule: Schedule, number: int) -> dict[str, str]:
    """Environment of the n-th operator, in a hurry."""
    identity = "operator" if schedule.in_place else f"operator-{number}"
    return stage.environment(
        SPADE_IDENTITY=identity, SPADE_LEASE_SECONDS="9", SPADE_RESYNC_SECONDS="5", SPADE_API_SECONDS="8"
    )


def through(kubeconfig: Path, url: str) -> Path:
    """The same credentials, by way of a proxy."""
    config = json.loads(kubeconfig.read_text())
    config["clusters"][0]["cluster"] = {"server": url}
    path = kubeconfig.with_name("kubeconfig-of-proxy")
    path.write_text(json.dumps(config))
    return path


async def settled(stage: Stage, schedule: Schedule) -> bool:
    """Whether the run is complete and has given everything back. One that spent its budget is taken up again."""
    run = await stage.run()
    if condition(run, "Failed")[:2] == ("True", "RestartBudgetSpent"):
        retry = run["spec"].get("retry", 0)
        if run["status"].get("handledRetry", 0) == retry:
            await asyncio.to_thread(stage.server.kubectl, *retried(stage.namespace, retry + 1))
        return False
    if condition(run, "Complete")[0] != "True":
        return False
    counts = {kind: len(await stage.items(kind)) for kind in (*COMPUTE, Kind.BATCH, Kind.ROLLOUT)}
    return not any(counts[kind] for kind in COMPUTE) and max(counts.values()) <= KEPT


def retried(namespace: str, retry: int) -> tuple[str, ...]:
    """Arguments of kubectl."""
    patch = json.dumps({"spec": {"retry": retry}})
    return "patch", "spaderun", "mini", "-n", namespace, "--type=merge", "-p", patch


def at_end(run: Object, world: World, schedule: Schedule) -> Iterator[str]:
    """What the status says against what happened."""
    status = run["status"]
    failed = status.get("handledRetry", 0) > 0
    if (world.designed, world.played) != ([0, 1], [0, 1, 2]) and not failed:
        yield f"not every unit was done once, in order: designed {world.designed}, played {world.played}"
    if set(world.designed) != {0, 1} or set(world.played) != {0, 1, 2}:
        yield f"units are missing: designed {world.designed}, played {world.played}"
    if world.trained != [1, 2, 3]:
        yield f"trained {world.trained}"
    if world.targets != sorted(world.targets):
        yield f"learners were sent back: {world.targets}"
    if failed and world.died["learner"] <= schedule.learner_restarts:
        yield f"the run failed although only {world.died['learner']} learners died"
    for role, counts in status.get("restarts", {}).items():
        if counts["total"] > world.died[role]:
            yield f"{counts['total']} restarts of {role} are counted, but {world.died[role]} died"
    if status.get("learnerAttempt", 0) > world.died["learner"] + status.get("handledRetry", 0):
        yield f"learner attempt {status['learnerAttempt']}, but {world.died['learner']} died"
    marks = {c["type"]: c["status"] for c in status["conditions"]}
    wanted = {
        "Accepted": "True", "Isolated": "False", "SandboxesReady": "False", "EnginesReady": "False",
        "LearnerReady": "False", "WeightsVerified": "True", "Progressing": "False", "Complete": "True",
        "Failed": "False",
    }  # fmt: skip
    for kind, value in wanted.items():
        if marks.get(kind) != value:
            yield f"condition {kind} is {marks.get(kind)}"
    said = {name: status.get(name) for name in ("phase", "rollout", "cycle", "policyVersion")}
    if said != {"phase": "Complete", "rollout": ROLLOUTS, "cycle": 1, "policyVersion": ROLLOUTS}:
        yield f"the status says {said}"
    if [figures["rollout"] for figures in status.get("rollouts", [])] != list(range(ROLLOUTS)):
        yield f"figures of the rollouts {status.get('rollouts')}"
    if status.get("episodes") != {"scored": 33, "scored/hinted": 12, "truncated": 3}:
        yield f"episodes {status.get('episodes')}"
    if status.get("environments") != {"accepted": 12, "parse/syntax": 4}:
        yield f"environments {status.get('environments')}"


async def left_over(stage: Stage, run: Object) -> AsyncIterator[str]:
    """Objects of the run that a complete run does not leave, and those without a living owner."""
    units = [*await stage.items(Kind.BATCH), *await stage.items(Kind.ROLLOUT)]
    living = {item["metadata"]["uid"] for item in (run, *units)}
    for unit in units:
        if not is_true(unit, "Complete") or deleting(unit):
            yield f"unit {unit['metadata']['name']} is not complete"
    for kind in set(Kind) - {Kind.WORKLOAD}:
        for item in await stage.items(kind):
            name = f"{kind} {item['metadata']['name']}"
            if kind in COMPUTE:
                yield f"{name} is still there"
            ours = kind not in (Kind.RUN, Kind.CLAIM) and RUN in item["metadata"].get("labels", {})
            if ours and owner_of(item) not in living:
                yield f"{name} is an orphan"


def in_process(operators: Operators, schedule: Schedule, log: str) -> Iterator[str]:
    """Ends and errors of the operator that nobody caused."""
    if operators.left:
        yield f"the operator ended by itself: {operators.left}"
    # kopf tells the end of a watch so.
    excused = any(trouble.fault is WatchFault.BROKEN for trouble in schedule.watches)
    if "Traceback" in log and not excused:
        yield "an error that nobody foresaw is in the log"
