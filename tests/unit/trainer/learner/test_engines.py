"""Which engines are watched, and when one is called unreachable."""

from typing import Any

from spade_contracts.manifests import PolicyManifest
from spade_contracts.statuses import EngineTarget, LearnerTarget, ProofResult
from spade_trainer.learner.board import Board
from spade_trainer.learner.engines import MISSES, Surroundings, _look, engines_to_watch
from spade_trainer.learner.figures import new_figures
from spade_trainer.weights.engine_client import EngineFault
from spade_trainer.weights.files import FileTransport
from spade_trainer.weights.probe import Expected
from spade_trainer.weights.prover import Assignment
from spade_trainer.weights.transport import Policy

ENGINE = EngineTarget(name="e0", host="10.0.0.1")
MANIFEST = PolicyManifest(policy_version=3, files={}, tensors=1, tensors_sha256="0" * 64, parameters=1)
ASSIGNMENT = Assignment(
    policy=Policy(MANIFEST, "file:///p"),
    token_ids=(1, 2),
    expected=Expected(policy_version=3, new=(-1.0,), old=None, canary=(-2.0,), noise=0.1),
)


class Silent:
    """An engine that never answers."""

    async def status(self) -> None:
        raise EngineFault("unreachable", "no route to host")


def board(target: int) -> Board:
    made = Board("boot-0123456789")
    made.change(target=LearnerTarget(policy_version=target, engines=(ENGINE,)), assignment=ASSIGNMENT)
    return made


def test_engines_are_watched_once_the_targets_version_is_exported() -> None:
    assert engines_to_watch(board(3).read()) == (ENGINE,)
    assert engines_to_watch(board(4).read()) == ()
    assert engines_to_watch(Board("boot-0123456789").read()) == ()


async def test_an_engine_is_unreachable_after_several_looks_and_not_before() -> None:
    here, silent = board(3), Silent()
    client: Any = silent
    around = Surroundings(here, new_figures(), FileTransport(), on_proof=lambda proof: None)
    for _ in range(MISSES - 1):
        await _look(around, client, ENGINE, ASSIGNMENT)
    assert here.read().proofs == {}
    await _look(around, client, ENGINE, ASSIGNMENT)
    proof = here.read().proofs["e0"]
    assert (proof.result, proof.policy_version) == (ProofResult.UNREACHABLE, 3)
    assert "no route" in proof.detail
