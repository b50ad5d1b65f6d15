"""What a finished rollout came to, from its objects and the learner's word: figures for status, tables and metrics."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from spade_contracts.canaries import false_accepts
from spade_contracts.resources import EnvBatchStatus, RolloutJobStatus
from spade_contracts.resources.spade_run import RolloutFigures
from spade_contracts.statuses import LearnerStatus, ProofResult
from spade_operator.reconcile.baseline import baseline, skill_set, with_rollout
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import Position, Stage, batch_for
from spade_operator.reconcile.spending import with_spending

KEPT_ROLLOUTS = 8
WORST_FIRST = (
    ProofResult.UNREACHABLE, ProofResult.MISMATCH, ProofResult.INDISTINGUISHABLE, ProofResult.VERIFIED,
)  # fmt: skip
STAGES = ("design", "before_play", "play", "before_train", "train", "prove")
"""Keys of stageSeconds: stages, and the gaps before them, where nothing of the run works."""


def finished_rollout(seen: Observed, place: Position, now: datetime) -> Mapping[str, Any]:
    """New values of the status fields that a finished rollout changes."""
    status = seen.status
    plays = seen.rollouts[place.rollout].status
    made = batch_for(seen, place.rollout)
    batch = made.status if made is not None else None
    found = seen.learner()
    said = found[1] if found is not None else None
    first = seen.method.starts_cycle(place.rollout)
    proofs = [p.result for p in said.proofs if p.policy_version == place.wanted_version] if said is not None else []
    skills = skill_set(seen.method.environments, place.cycle)
    step = said.last_step if said is not None and said.last_step and said.last_step.rollout == place.rollout else None
    figures = RolloutFigures(
        rollout=place.rollout,
        cycle=place.cycle,
        environments=_environments(seen, place, batch),
        outcomes=plays.outcomes,
        learnable_fraction=plays.learnable_fraction,
        mean_return=plays.mean_return,
        loss=f"{step.loss:.6g}" if step is not None else None,
        gradient_norm=f"{step.gradient_norm:.6g}" if step is not None else None,
        stage_seconds=stage_seconds(seen, plays, batch, said, now),
        proof=next((str(result) for result in WORST_FIRST if result in proofs), None),
    )
    hinted = plays if plays.hint_regret is not None else status
    return {
        "learnable_fraction": plays.learnable_fraction,
        "learnable_baseline": baseline(status.learnable_baselines, skills),
        "learnable_baselines": with_rollout(status.learnable_baselines, skills, plays.learnable_fraction),
        "mean_return": plays.mean_return,
        "hint_regret": hinted.hint_regret,
        "hint_regret_standard_error": hinted.hint_regret_standard_error,
        "rollouts": (*status.rollouts, figures)[-KEPT_ROLLOUTS:],
        "verifier_failures": _sum(status.verifier_failures, plays.verifier_failures),
        "episodes": _sum(
            status.episodes, plays.outcomes, {f"{name}/hinted": n for name, n in plays.hinted_outcomes.items()}
        ),
        "prefix_checks": _sum(status.prefix_checks, plays.prefix_checks),
        "environments": _sum(status.environments, _attempts(batch)) if batch is not None else status.environments,
        "canaries": with_canaries(status.canaries, batch) if batch is not None else status.canaries,
        "kept_cycles": status.kept_cycles + int(first and batch is not None and batch.kept_from is not None),
        **with_spending(status, batch),
        "proofs": _sum(status.proofs, {str(r): proofs.count(r) for r in set(proofs)}),
    }


def with_attempts(environments: Mapping[str, int], batch: EnvBatchStatus) -> dict[str, int]:
    """Designer attempts of the run with those of a cycle that came to nothing."""
    return _sum(environments, _attempts(batch)) if batch.attempts else dict(environments)


def without_attempts(environments: Mapping[str, int], batch: EnvBatchStatus) -> dict[str, int]:
    """The same without them: a worker that tries again adopts their verdicts, and its summary tells of them again."""
    return _less(environments, _attempts(batch) if batch.attempts else {})


def with_canaries(canaries: Mapping[str, int], batch: EnvBatchStatus) -> dict[str, int]:
    """Figures of the gate's error over the run, with those of a cycle."""
    return _sum(canaries, batch.canaries)


def without_canaries(canaries: Mapping[str, int], batch: EnvBatchStatus) -> dict[str, int]:
    """The same without those of a cycle that a retry adopts. An unsound gate's are not: it is tried anew."""
    return dict(canaries) if false_accepts(batch.canaries) else _less(canaries, batch.canaries)


def stage_seconds(
    seen: Observed, plays: RolloutJobStatus, batch: EnvBatchStatus | None, said: LearnerStatus | None, now: datetime
) -> dict[str, str]:
    """Seconds of each stage by the clocks of the containers that worked, and of the gaps between them."""
    began = {name: datetime.fromisoformat(text) for name, text in seen.status.stage_started.items()}
    spans: dict[str, tuple[datetime | None, datetime | None]] = {}
    design_end = _time(batch.finished_at) if batch is not None else None
    if batch is not None:
        spans["design"] = (_time(batch.started_at), design_end)
    spans["before_play"] = (design_end or began.get(Stage.PLAY), _time(plays.started_at))
    spans["play"] = (_time(plays.started_at), _time(plays.finished_at))
    spans["before_train"] = (_time(plays.finished_at), began.get(Stage.TRAIN))
    spans["train"] = (began.get(Stage.TRAIN), began.get(Stage.PROVE, now))
    spans["prove"] = (began.get(Stage.PROVE, now), now)
    return {
        name: f"{max(0.0, (end - start).total_seconds()):.1f}" for name, (start, end) in spans.items() if start and end
    }


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _environments(seen: Observed, place: Position, batch: EnvBatchStatus | None) -> int:
    """Environments that the cycle has by this rollout, from what was designed before it or from an earlier rollout."""
    if batch is not None and seen.method.starts_cycle(place.rollout):
        return batch.accepted or batch.kept
    if batch is not None and batch.requested is not None:
        return seen.method.environments.per_cycle - batch.requested + (batch.accepted or 0)
    before = next((f.environments for f in reversed(seen.status.rollouts) if f.cycle == place.cycle), None)
    if before is not None:
        return before
    first = seen.batches.get(place.cycle)
    return (first.status.accepted or first.status.kept) if first is not None else 0


def _attempts(batch: EnvBatchStatus | None) -> Mapping[str, int]:
    return {"accepted": batch.accepted or 0, **batch.rejected} if batch is not None else {}


def _less(counts: Mapping[str, int], taken: Mapping[str, int]) -> dict[str, int]:
    left = {key: number - taken.get(key, 0) for key, number in counts.items()}
    return {key: number for key, number in left.items() if number > 0}


def _sum(*counts: Mapping[str, int]) -> dict[str, int]:
    keys = sorted({key for part in counts for key in part})
    return {key: sum(part.get(key, 0) for part in counts) for key in keys}
