"""The order of a rollout: environments if a cycle starts, plays, one step, proof, next. A pass does what is missing."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RolloutCondition, RunCondition, Suspend
from spade_contracts.resources.conditions import Condition
from spade_contracts.resources.reasons import BatchCondition
from spade_contracts.resources.run_parts import Restarts
from spade_operator.children.design import env_batch
from spade_operator.children.play import rollout_job
from spade_operator.reconcile.causes import first_trouble
from spade_operator.reconcile.figures import finished_rollout, with_attempts, with_canaries
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import (
    Position,
    Stage,
    batch_for,
    begun,
    condition_true,
    designs_before,
    environments_of,
    last_checkpoint_pending,
    position,
    verified,
)
from spade_operator.reconcile.restarts import failed
from spade_operator.reconcile.spending import with_spending
from spade_operator.reconcile.steps import Action, Create, Step, is_false, is_true, known_reason
from spade_operator.reconcile.work import stuck_condition
from spade_operator.records import JobRecord

PHASES = {
    Stage.DESIGN: Phase.DESIGNING,
    Stage.PLAY: Phase.PLAYING,
    Stage.TRAIN: Phase.TRAINING,
    Stage.PROVE: Phase.PROVING,
}
REASONS = {
    Stage.DESIGN: Reason.DESIGNING,
    Stage.PLAY: Reason.PLAYING,
    Stage.TRAIN: Reason.TRAINING,
    Stage.PROVE: Reason.PROVING,
}


def words(stage: Stage, rollout: int, cycle: int, *, topping_up: bool = False) -> str:
    """What is happening, for people."""
    lacking = f"designing what cycle {cycle} lacks of environments for rollout {rollout}"
    return {
        Stage.DESIGN: lacking if topping_up else f"designing the environments of cycle {cycle}",
        Stage.PLAY: f"playing rollout {rollout}",
        Stage.TRAIN: f"training on rollout {rollout}",
        Stage.PROVE: f"proving policy version {rollout + 1} in the engines",
        Stage.COMPLETE: "complete",
    }[stage]


def rollout(seen: Observed, now: datetime) -> Step:
    """Do what the rollout in work lacks, or go on to the next one."""
    place = position(seen)
    broken = _failed_child(seen, place)
    if broken is not None:
        step = failed(seen, known_reason(broken.reason, Reason.JOB_FAILED), broken.message)
        return _with_counts_of_failed(seen, place, step)
    if place.stage is Stage.COMPLETE:
        text = f"proving policy version {place.wanted_version}, which run storage holds"
        proving = is_true(RunCondition.PROGRESSING, Reason.PROVING, text)
        return Step(conditions=(proving,), phase=Phase.PROVING, doing=text)
    if place.stage is Stage.DESIGN:
        there = batch_for(seen, place.rollout) is not None
        return _working(seen, place, now, () if there else _environments(seen, place.cycle, place.rollout), there)
    if place.stage is Stage.PLAY:
        there = place.rollout in seen.rollouts
        return _working(seen, place, now, () if there else _plays(seen, place.rollout, place.cycle), there)
    if verified(seen, place.wanted_version) and not last_checkpoint_pending(seen, place):
        return _next(seen, place, now)
    return _working(seen, place, now, (), there=True)


def _failed_child(seen: Observed, place: Position) -> Condition | None:
    """The condition Failed of the EnvBatch or RolloutJob in work, when it is True."""
    batch, plays = batch_for(seen, place.rollout), seen.rollouts.get(place.rollout)
    if batch is not None and place.stage is Stage.DESIGN:
        return next((c for c in batch.status.conditions if _is_failed(c, BatchCondition.FAILED)), None)
    if plays is not None and not condition_true(plays.status.conditions, RolloutCondition.COMPLETE):
        return next((c for c in plays.status.conditions if _is_failed(c, RolloutCondition.FAILED)), None)
    return None


def _held_up(seen: Observed, place: Position) -> tuple[Reason, str] | None:
    """Why the unit in work has no Job, or its Job no pod, as its own condition tells."""
    batch, plays = batch_for(seen, place.rollout), seen.rollouts.get(place.rollout)
    if place.stage is Stage.DESIGN and batch is not None:
        return stuck_condition(batch.status.conditions)
    if place.stage is Stage.PLAY and plays is not None:
        return stuck_condition(plays.status.conditions)
    return None


def _with_counts_of_failed(seen: Observed, place: Position, step: Step) -> Step:
    """What a failed cycle tried is told too. This happens once: a run that has failed gets no further than that."""
    batch = batch_for(seen, place.rollout)
    if place.stage is not Stage.DESIGN or batch is None:
        return step
    counts = {
        "environments": with_attempts(seen.status.environments, batch.status),
        "canaries": with_canaries(seen.status.canaries, batch.status),
        **with_spending(seen.status, batch.status),
    }
    return replace(step, status={**step.status, **counts})


def _is_failed(condition: Condition, kind: str) -> bool:
    return condition.type == kind and condition.status == "True"


def _environments(seen: Observed, cycle: int, rollout: int) -> tuple[Action, ...]:
    topup = None if seen.method.starts_cycle(rollout) else rollout
    return tuple(Create(manifest) for manifest in env_batch(seen.parent, cycle, rollout, topup))


def _plays(seen: Observed, number: int, cycle: int) -> tuple[Action, ...]:
    return tuple(Create(manifest) for manifest in rollout_job(seen.parent, number, cycle, number))


def _working(seen: Observed, place: Position, now: datetime, create: tuple[Action, ...], there: bool) -> Step:
    """In a stage; work that needs engines begins, or is taken up again, once they are proven."""
    needs_engines = place.stage in (Stage.DESIGN, Stage.PLAY) and not (there and seen.pods_of(Role.WORKER))
    if seen.spec.suspend is not Suspend.NEVER and not begun(seen, place):
        return Step(doing="waiting to be suspended")
    if needs_engines and not verified(seen, place.wanted_version):
        waiting = is_false(RunCondition.PROGRESSING, Reason.WAITING, "Work goes on when all engines are proven.")
        doing = f"bringing the engines to policy version {place.wanted_version}"
        return Step(conditions=(waiting,), phase=Phase.STARTING, doing=doing)
    started = _started(seen.status.stage_started, place.stage, now)
    step = _in_stage(seen, place.stage, place.rollout, create, started)
    stuck = first_trouble(seen.pods_of(Role.WORKER), now) or _held_up(seen, place)
    if stuck is None:
        return step
    # A worker that has just begun has not shown yet that there is room.
    if stuck[0] is not Reason.STORAGE_FULL and any(pod.phase == "Running" for pod in seen.pods_of(Role.WORKER)):
        return step
    return replace(step, conditions=(is_false(RunCondition.PROGRESSING, *stuck),))


def _in_stage(
    seen: Observed, stage: Stage, number: int, actions: tuple[Action, ...], started: Mapping[str, str]
) -> Step:
    cycle = seen.method.cycle_of(number)
    text = words(stage, number, cycle, topping_up=not seen.method.starts_cycle(number))
    return Step(
        actions,
        (is_true(RunCondition.PROGRESSING, REASONS[stage], text),),
        {"rollout": number, "cycle": cycle, "stage_started": dict(started)},
        phase=PHASES[stage],
        doing=text,
    )


def _started(known: Mapping[str, str], stage: Stage, now: datetime) -> dict[str, str]:
    return dict(known) if stage in known else {**known, str(stage): now.isoformat(timespec="milliseconds")}


def _next(seen: Observed, place: Position, now: datetime) -> Step:
    """The rollout is trained and proven: its figures, full budgets, and the next one's first work in the same pass."""
    number = place.rollout + 1
    figures = finished_rollout(seen, place, now)
    refilled = {role: Restarts(total=known.total) for role, known in seen.status.restarts.items()}
    designed = seen.method.starts_cycle(place.rollout)
    lost = sum(job.failed_pods for job in seen.jobs.values() if _worked_for(job, place, designed))
    progress = dict(figures) | {"policy_version": number, "restarts": refilled}
    counted = {Role.WORKER: lost} if lost else {}
    if number >= seen.spec.rollouts:
        done = is_true(RunCondition.PROGRESSING, Reason.FINISHED, "All rollouts are trained and proven.")
        status = progress | {"rollout": number, "stage_started": {}}
        return Step(conditions=(done,), status=status, restarts=counted, doing="complete")
    cycle = seen.method.cycle_of(number)
    designing = designs_before(seen, number, environments_of(figures["rollouts"], place.rollout))
    stage = Stage.DESIGN if designing else Stage.PLAY
    create = _environments(seen, cycle, number) if stage is Stage.DESIGN else _plays(seen, number, cycle)
    if seen.spec.suspend is not Suspend.NEVER:
        create = ()
    step = _in_stage(seen, stage, number, create, _started({}, stage, now))
    return Step(step.actions, step.conditions, {**step.status, **progress}, counted, step.phase, step.doing)


def _worked_for(job: JobRecord, place: Position, designed: bool) -> bool:
    """Whether it was a Job of this rollout's plays or top-up, or of the environments that were designed for it."""
    own = job.meta.rollout if job.meta.topup is None else job.meta.topup
    if own is not None:
        return own == place.rollout
    return designed and job.meta.cycle == place.cycle
