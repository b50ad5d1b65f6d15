"""What rank 0's two threads share: the group's work on one side, HTTP and proofs on the other."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from spade_contracts.statuses import EngineProof, LearnerState, LearnerStatus, LearnerTarget, StepFigures
from spade_trainer.weights.prover import Assignment


@dataclass(frozen=True)
class Situation:
    """One moment of the learner."""

    boot_id: str
    work: LearnerState = LearnerState.STARTING
    """What the group is doing; IDLE when it waits."""
    policy_version: int | None = None
    target: LearnerTarget | None = None
    assignment: Assignment | None = None
    """The exported version that engines are to be proven at."""
    proofs: dict[str, EngineProof] = field(default_factory=dict)
    """The latest proof by engine name."""
    proving: int = 0
    """Proofs that are running."""
    last_step: StepFigures | None = None
    replayed_steps: int = 0
    replay_diverged: int | None = None
    error: str = ""
    failure: str = ""

    def status(self) -> LearnerStatus:
        """The open status. Proofs of engines that are no longer wanted are left out."""
        state = self.work
        if state is LearnerState.IDLE and self.proving:
            state = LearnerState.PROVING
        wanted = {engine.name for engine in self.target.engines} if self.target else set()
        return LearnerStatus(
            boot_id=self.boot_id,
            state=state,
            policy_version=self.policy_version,
            target=self.target.policy_version if self.target else None,
            proofs=tuple(proof for name, proof in sorted(self.proofs.items()) if name in wanted),
            last_step=self.last_step,
            replayed_steps=self.replayed_steps,
            replay_diverged=self.replay_diverged,
            error=self.error,
            failure=self.failure,
        )


class Board:
    """The present situation; every change replaces it whole. Safe from any thread."""

    def __init__(self, boot_id: str) -> None:
        self._changed = threading.Condition()
        self._now = Situation(boot_id)

    def read(self) -> Situation:
        """The present situation."""
        with self._changed:
            return self._now

    def change(self, **fields: object) -> None:
        """Replace some fields."""
        self.transform(lambda now: replace(now, **fields))  # type: ignore[arg-type]

    def transform(self, step: Callable[[Situation], Situation]) -> Situation:
        """Replace the situation by a function of itself, and say what it is now."""
        with self._changed:
            self._now = step(self._now)
            self._changed.notify_all()
            return self._now

    def wait(self, seconds: float) -> None:
        """Until the next change, or so long."""
        with self._changed:
            self._changed.wait(seconds)
