"""Learner and engine on the same devices take turns: nobody computes while the other does, and the numbers stay."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.component.engine.conftest import CONTROL_TOKEN, RunningEngine, start_engine, stop_engine, wait_for_boot
from tests.component.learner.process import RunningLearner, start_learner
from tests.component.learner.runs import make_run, settings
from tests.component.weights.test_both import HOST, TINY

from spade_contracts.statuses import EngineState, LearnerState, LearnerStatus, ProofResult

ROLLOUTS = 2
AT_WORK = (LearnerState.TRAINING, LearnerState.REPLAYING)


@contextmanager
def watched(learner: RunningLearner, engine: RunningEngine) -> Iterator[list[EngineState]]:
    """The engine's states while the learner said, before and after, that it was at work on its step."""
    seen: list[EngineState] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            before = learner.status()
            state = engine.status().state
            after = learner.status()
            if before and after and before.state in AT_WORK and after.state is before.state:
                seen.append(state)

    watching = threading.Thread(target=look)
    watching.start()
    try:
        yield seen
    finally:
        over.set()
        watching.join()


def proven(version: int):
    def reached(now: LearnerStatus) -> bool:
        return any(proof.policy_version == version and proof.result is ProofResult.VERIFIED for proof in now.proofs)

    return reached


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[RunningLearner, RunningEngine]]:
    """Both start at once, as the containers of one pod do."""
    config = settings(optimizer={"learning_rate": 4e-3}, checkpoint_every=50)
    store = make_run(tmp_path / "storage", config, rollouts=ROLLOUTS, model=TINY)
    engine = start_engine(tmp_path / "engine", store, colocated=True)
    try:
        ports = (engine.control_port, engine.status_port)
        learner = start_learner(
            tmp_path / "learner", store, engine_ports=ports, engine_token=CONTROL_TOKEN, colocated=True
        )
        try:
            wait_for_boot(engine, EngineState.ASLEEP)
            yield learner, engine
        finally:
            learner.stop()
    finally:
        stop_engine(engine)


def test_they_take_turns_and_end_where_a_learner_of_its_own_does(
    pair: tuple[RunningLearner, RunningEngine], tmp_path: Path
) -> None:
    learner, engine = pair
    learner.until_listening()
    assert engine.status().state is EngineState.ASLEEP, "the learner loads while the engine sleeps"
    with watched(learner, engine) as states:
        for version in range(ROLLOUTS + 1):
            assert learner.put_target(version, HOST) == 200
            learner.until(proven(version))
            status = engine.status()
            assert (status.state, status.verified_policy_version) == (EngineState.SERVING, version)
    assert states, "a step was seen"
    assert set(states) == {EngineState.ASLEEP}
    learner.stop()
    alone = start_learner(tmp_path / "alone", engine.store, engine_ports=(1, 1))
    try:
        alone.until_listening()
        alone.put_target(ROLLOUTS)
        end = alone.until(lambda now: (now.policy_version or 0) >= ROLLOUTS)
        assert (end.replayed_steps, end.replay_diverged) == (ROLLOUTS, None)
    finally:
        alone.stop()
