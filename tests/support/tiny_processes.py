"""What runs in the pods of a tiny world, and what it says."""

from dataclasses import dataclass, field
from typing import Any

from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.statuses import DesignSummary, EngineProof, LearnerTarget, Outcome, PlaySummary


@dataclass
class Process:
    """What runs in a pod."""

    boot_id: str
    version: int | None = None
    target: LearnerTarget | None = None
    proofs: dict[str, EngineProof] = field(default_factory=dict)


def says(role: Role | None, process: Process, wanted_sessions: int) -> Any:
    """Its status; None for a role that has none."""
    match role:
        case Role.SANDBOX:
            return p.sandbox_says(process.boot_id)
        case Role.BEACON:
            return p.beacon_says()
        case Role.ENGINE:
            return p.engine_says(process.version, process.boot_id)
        case Role.LEARNER:
            return p.learner_says(process.version, *process.proofs.values(), boot_id=process.boot_id)
        case Role.WORKER:
            return p.worker_says(wanted=wanted_sessions)
    return None


def result(task: dict[str, Any], accepted: int = 6) -> str:
    """Last words of a worker that has done its task; of a cycle's six programs so many are accepted, and of those that
    a top-up designs again all.
    """
    known = {"seconds": 1.0, "tokens": 1, "storage_uri": "file:///storage"}
    if task["kind"] == "design":
        wanted, made = (6, accepted) if task.get("rollout") is None else (6 - accepted, 6 - accepted)
        return DesignSummary(
            cycle=task["cycle"], requested=wanted, attempts=wanted, accepted=made, **known
        ).model_dump_json()
    return PlaySummary(
        rollout=task["rollout"], planned=1, outcomes={Outcome.SCORED: 1}, hinted=0, hinted_outcomes={},
        learnable_fraction=0.5, mean_return=0.5, **known,
    ).model_dump_json()  # fmt: skip
