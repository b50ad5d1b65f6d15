"""Rank 0's main thread: decides what the group does next, records it, and keeps the board true."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from spade_contracts.statuses import LearnerState, LearnerTarget, StepFigures
from spade_trainer.learner.board import Board
from spade_trainer.learner.figures import Figures, IdleClock
from spade_trainer.learner.group import Command, Group, Kind, Stepped
from spade_trainer.learner.neighbours import Neighbours
from spade_trainer.learner.plan import Work, checkpoint_due, next_work
from spade_trainer.learner.replay import compare
from spade_trainer.store import layout, manifests, retention, timings
from spade_trainer.store.objects import Store, exists
from spade_trainer.weights.probe import Expected
from spade_trainer.weights.prover import Assignment
from spade_trainer.weights.transport import Policy

IDLE_SECONDS = 0.5
"""Between two looks at storage; also the pause between two signs of life to the other ranks."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Conductor:
    """Everything that the loop below works with."""

    store: Store
    group: Group
    board: Board
    figures: Figures
    keep_policies: int
    keep_checkpoints: int
    keep_episodes: int | None
    neighbours: Neighbours | None = None
    """Engines on the same devices; None: the learner has its devices for itself."""

    def run(self, *, forever: Callable[[], bool] = lambda: True) -> None:
        """Conduct until an error, or until `forever` says no."""
        clock = IdleClock(self.figures)
        self.board.change(policy_version=self.group.version)
        while forever():
            target = self.board.read().target
            work = self._next(target)
            if work is Work.NOTHING:
                began = time.monotonic()
                self.board.change(work=LearnerState.IDLE)
                self.group.ask(Command(Kind.WAIT))
                self.board.wait(IDLE_SECONDS)
                clock.waited(time.monotonic() - began)
            else:
                self._perform(work, target)
                clock.waited(0.0)

    def _next(self, target: LearnerTarget | None) -> Work:
        version = self.group.version
        assignment = self.board.read().assignment
        every = self.group.method.learner.checkpoint_every
        return next_work(
            version,
            target,
            rollout_finished=exists(self.store, manifests.rollout_path(version)),
            published=assignment is not None and assignment.expected.policy_version == version,
            checkpoint_due=checkpoint_due(
                version, every, target, exists=exists(self.store, manifests.checkpoint_path(version))
            ),
            colocated=self.neighbours is not None,
        )

    def _perform(self, work: Work, target: LearnerTarget | None) -> None:
        self._take_devices(target)
        if work is Work.STEP:
            self._step(last_rollout=target is not None and self.group.version + 1 == target.last_policy_version)
        elif work is Work.PUBLISH:
            self.board.change(work=LearnerState.EXPORTING)
            self._publish(target)
        else:
            self.board.change(work=LearnerState.EXPORTING)
            self.group.ask(Command(Kind.CHECKPOINT))
            retention.prune(
                self.store,
                keep_policies=self.keep_policies,
                keep_checkpoints=self.keep_checkpoints,
                keep_episodes=self.keep_episodes,
            )
            if self.neighbours is not None:
                # The engines sleep now, whatever they were proven at: publishing wakes them and has them proven.
                self.board.change(assignment=None)

    def _take_devices(self, target: LearnerTarget | None) -> None:
        """Nobody plays from here on: the step's data is complete, or nothing was ever served."""
        if self.neighbours is not None:
            self.neighbours.sleep(target.engines if target is not None else ())
            self.group.ask(Command(Kind.MOVE_ON))

    def _give_devices(self, target: LearnerTarget | None) -> None:
        if self.neighbours is not None:
            self.group.ask(Command(Kind.MOVE_OFF))
            self.neighbours.wake(target.engines if target is not None else ())

    def _step(self, *, last_rollout: bool) -> None:
        """Take the next step and record it, or replay it and compare it with its record."""
        rollout = self.group.version
        recorded = manifests.find_step(self.store, rollout)
        self.board.change(work=LearnerState.TRAINING if recorded is None else LearnerState.REPLAYING)
        stepped = self.group.ask(Command(Kind.STEP, last_rollout))
        assert isinstance(stepped, Stepped)
        if recorded is None:
            manifests.write(self.store, manifests.step_path(rollout), stepped.manifest)
            seconds = {"assemble": stepped.assemble_seconds, "train": stepped.step_seconds}
            timings.write(self.store, layout.step_folder(rollout), "learner", seconds)
        else:
            compare(recorded, stepped.manifest)
        step = _figures(stepped)
        self.figures.stepped(step, stepped.designer_reward_mean, stepped.samples)
        log.info("%s policy %d: %s", "made" if recorded is None else "replayed", rollout + 1, step)
        replayed = self.board.read().replayed_steps + (recorded is not None)
        self.board.change(policy_version=self.group.version, last_step=step, replayed_steps=replayed, assignment=None)

    def _publish(self, target: LearnerTarget | None) -> None:
        """Export the present version and hand it to the proof."""
        self.group.ask(Command(Kind.EXPORT))
        canary = self.group.ask(Command(Kind.CANARY))
        assert isinstance(canary, tuple)
        noise = self.group.ask(Command(Kind.NOISE))
        assert isinstance(noise, float)
        version = self.group.version
        policy = Policy(
            manifest=manifests.read_policy(self.store, version), uri=f"{self.store.uri}/{layout.policy_folder(version)}"
        )
        expected = Expected(policy_version=version, new=self.group.new, old=self.group.old, canary=canary, noise=noise)
        self._give_devices(target)
        self.board.change(assignment=Assignment(policy, self.group.tokens, expected))


def _figures(stepped: Stepped) -> StepFigures:
    made = stepped.manifest
    return StepFigures(
        rollout=made.rollout,
        loss=made.loss,
        gradient_norm=made.gradient_norm,
        kl=made.kl,
        importance_mean=made.importance_mean,
        importance_clipped_fraction=made.importance_clipped_fraction,
        player_samples=made.player_samples,
        designer_samples=made.designer_samples,
        tokens=made.tokens,
        seconds=stepped.assemble_seconds + stepped.step_seconds,
    )
