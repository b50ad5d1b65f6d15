"""The real learner proves the real engine: Megatron's numbers and vLLM's are those of one policy."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.component.engine.conftest import CONTROL_TOKEN, RunningEngine, start_engine, stop_engine, wait_for_boot
from tests.component.learner.process import RunningLearner, start_learner
from tests.component.learner.runs import make_run, settings

import spade_trainer.models
from spade_contracts.statuses import EngineProof, EngineState, ProofResult

TINY = Path(spade_trainer.models.__file__).parent / "tiny"
HOST = {"e0": "127.0.0.1"}


@dataclass(frozen=True)
class Pair:
    """A learner and an engine on one run."""

    learner: RunningLearner
    engine: RunningEngine

    def bring_to(self, version: int) -> EngineProof:
        """Ask for a version and wait for the engine's proof at it."""
        assert self.learner.put_target(version, HOST) == 200
        status = self.learner.until(lambda now: any(proof.policy_version == version for proof in now.proofs))
        return status.proofs[0]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("both")
    config = settings(optimizer={"learning_rate": 4e-3})
    store = make_run(folder / "storage", config, rollouts=2, model=TINY)
    engine = start_engine(folder / "engine", store)
    try:
        ports = (engine.control_port, engine.status_port)
        learner = start_learner(folder / "learner", store, engine_ports=ports, engine_token=CONTROL_TOKEN)
        try:
            learner.until_listening()
            wait_for_boot(engine)
            yield Pair(learner, engine)
        finally:
            learner.stop()
    finally:
        stop_engine(engine)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_engine_is_proven_at_each_version_and_serves_it(pair: Pair, version: int) -> None:
    proof = pair.bring_to(version)
    assert proof.result is ProofResult.VERIFIED, proof.detail
    status = pair.engine.status()
    assert (status.state, status.verified_policy_version) == (EngineState.SERVING, version)
    assert status.canary_passed
    assert proof.boot_id == status.boot_id


def test_an_engine_whose_canary_tensor_was_moved_is_proven_again(pair: Pair) -> None:
    """Somebody touches the weights: the engine is unproven, and the learner loads and proves it without being asked."""
    pair.engine.control("/canary", {"factor": 0.75})
    pair.learner.until(lambda _: pair.engine.status().state is EngineState.SERVING)
    assert pair.engine.status().verified_policy_version == 2
