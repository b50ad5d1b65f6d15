"""What is too frequent to be written to the API server: live progress, for the operator's own HTTP port."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from spade_contracts.labels import Role
from spade_contracts.resources import Phase
from spade_contracts.statuses import LearnerState, LearnerStatus, SandboxStatus, WorkerStatus
from spade_operator.facts import Facts, Poll
from spade_operator.records import PodRecord, RunRecord

SANDBOX_STATES = ("pending", "probing", "admitted", "draining", "failed")


@dataclass(frozen=True)
class Count:
    """Work planned and done."""

    planned: int
    done: int


def sandbox_state(pod: PodRecord, poll: Poll | None) -> str:
    """One of SANDBOX_STATES."""
    status = poll.status if poll is not None else None
    if pod.phase == "Failed":
        return "failed"
    if pod.meta.deleting or (isinstance(status, SandboxStatus) and status.draining):
        return "draining"
    if pod.admitted_boot:
        return "admitted"
    if pod.phase != "Running":
        return "pending"
    return "probing"


def workers(run: RunRecord, facts: Facts) -> list[WorkerStatus]:
    """Latest words of the workers of the stage in work."""
    wanted = run.status.rollout if run.status.phase is Phase.PLAYING else None
    answers: list[WorkerStatus] = []
    for record in facts.family(run.meta.namespace, run.meta.name):
        if not isinstance(record, PodRecord) or record.meta.role is not Role.WORKER:
            continue
        if record.phase != "Running" or record.meta.rollout != wanted:
            continue
        poll = facts.poll(record.meta.uid)
        if poll is not None and isinstance(poll.status, WorkerStatus):
            answers.append(poll.status)
    return answers


def progress(run: RunRecord, facts: Facts) -> Count:
    """Slots of a design stage, or episodes of a play stage, as the workers count them."""
    answers = workers(run, facts)
    return Count(sum(a.planned for a in answers), sum(a.done for a in answers))


def episodes(run: RunRecord, facts: Facts) -> Count:
    """Episodes of the rollout in work; nothing outside of the play stage."""
    return progress(run, facts) if run.status.phase is Phase.PLAYING else Count(0, 0)


def learner_words(run: RunRecord, facts: Facts) -> str:
    """What the learner does, when that is not plain from the phase."""
    for record in facts.family(run.meta.namespace, run.meta.name):
        if isinstance(record, PodRecord) and record.meta.role is Role.LEARNER and record.live:
            poll = facts.poll(record.meta.uid)
            if poll is not None and isinstance(poll.status, LearnerStatus):
                state = poll.status.state
                return "" if state is LearnerState.IDLE else str(state)
    return ""


def live_view(run: RunRecord, facts: Facts, now: datetime | None = None) -> dict[str, Any]:
    """The JSON of `GET /runs/<namespace>/<name>`."""
    status, moment = run.status, now or datetime.now(UTC)
    count, doing = progress(run, facts), status.doing
    if status.phase is Phase.DESIGNING and count.planned:
        doing = f"{doing} ({count.done} of {count.planned} slots)"
    elif status.phase is Phase.PLAYING and count.planned:
        doing = f"{doing} ({count.done} of {count.planned} episodes)"
    elif status.phase in (Phase.TRAINING, Phase.PROVING, Phase.STARTING) and (words := learner_words(run, facts)):
        doing = f"{doing} (learner: {words})"
    playing = episodes(run, facts)
    return {
        "phase": str(status.phase),
        "rollout": status.rollout,
        "cycle": status.cycle,
        "policy_version": status.policy_version,
        "doing": doing,
        "episodes_done": playing.done,
        "episodes_planned": playing.planned,
        "learnable_fraction": float(status.learnable_fraction) if status.learnable_fraction else None,
        "mean_return": float(status.mean_return) if status.mean_return else None,
        "stage_seconds": {
            stage: round((moment - datetime.fromisoformat(began)).total_seconds(), 1)
            for stage, began in status.stage_started.items()
        },
        "sandbox_sessions": sum(a.sessions_open for a in workers(run, facts)),
        "sandbox_sessions_wanted": sum(a.sessions_wanted for a in workers(run, facts)),
    }
