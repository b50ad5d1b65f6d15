"""The order of a proof, its one retry, and who needs one."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from spade_contracts.engine_api import CanaryReport, LoadReport, ScoreResponse
from spade_contracts.manifests import PolicyManifest
from spade_contracts.statuses import EngineProof, EngineState, EngineStatus, ProofResult
from spade_trainer.weights.engine_client import EngineFault
from spade_trainer.weights.files import FileTransport
from spade_trainer.weights.probe import CANARY_FACTOR, Expected
from spade_trainer.weights.prover import Assignment, needs_proof, prove
from spade_trainer.weights.transport import Policy

NEW = tuple(np.linspace(-6, -1, 63).tolist())
OLD = tuple(value - 2 for value in NEW)
CANARY = tuple(value / 2 - 1 for value in NEW)
MANIFEST = PolicyManifest(policy_version=7, files={}, tensors=3, tensors_sha256="d" * 64, parameters=9)
ASSIGNMENT = Assignment(
    policy=Policy(MANIFEST, "file:///run/policies/0007"),
    token_ids=tuple(range(64)),
    expected=Expected(policy_version=7, new=NEW, old=OLD, canary=CANARY, noise=0.02),
)


@dataclass
class Engine:
    """An engine of values; `weights` is what each load leaves, in order, the last one for good."""

    weights: list[tuple[float, ...]] = field(default_factory=lambda: [NEW])
    digest: str = "d" * 64
    moves: bool = True
    refuses: str = ""
    boot_id: str = "boot-1"
    calls: list[str] = field(default_factory=list)
    factor: float = 1.0
    now: tuple[float, ...] = OLD

    async def load(self, policy_version: int, uri: str) -> LoadReport:
        self.calls.append(f"load {policy_version} {uri}")
        self.now = self.weights.pop(0) if len(self.weights) > 1 else self.weights[0]
        return LoadReport(
            boot_id=self.boot_id, policy_version=policy_version, tensors_sha256=self.digest, tensors=3, seconds=0.5
        )

    async def score(self, token_ids: tuple[int, ...]) -> ScoreResponse:
        self.calls.append("score")
        if self.refuses:
            raise EngineFault(self.refuses, "no")
        scores = CANARY if self.factor != 1.0 and self.moves else self.now
        return ScoreResponse(boot_id=self.boot_id, loaded_policy_version=7, log_probs=scores)

    async def canary(self, factor: float) -> CanaryReport:
        self.calls.append(f"canary {factor}")
        self.factor = factor
        return CanaryReport(boot_id=self.boot_id, tensor="model.norm.weight", sum=1.0)

    async def admit(self, boot_id: str, policy_version: int) -> None:
        self.calls.append(f"admit {boot_id} {policy_version}")


def status(**changes: Any) -> EngineStatus:
    values = {
        "boot_id": "boot-1",
        "state": EngineState.UNVERIFIED,
        "loaded_policy_version": 0,
        "verified_policy_version": None,
        "canary_passed": False,
        "requests_in_flight": 0,
        "generated_tokens": 0,
    }
    return EngineStatus.model_validate(values | changes)


async def proof(engine: Engine, seen: EngineStatus) -> EngineProof:
    client: Any = engine
    return await prove(client, "e0", seen, ASSIGNMENT, transport=FileTransport())


LOAD = "load 7 file:///run/policies/0007"


async def test_the_first_proof_of_a_boot_moves_the_canary_and_restores_it_before_it_scores() -> None:
    engine = Engine()
    found = await proof(engine, status())
    assert found.result is ProofResult.VERIFIED
    canary = [f"canary {CANARY_FACTOR}", "score", "canary 1.0"]
    assert engine.calls == [LOAD, *canary, "score", "admit boot-1 7"]


async def test_later_proofs_of_the_boot_need_no_canary() -> None:
    engine = Engine()
    assert (await proof(engine, status(canary_passed=True))).result is ProofResult.VERIFIED
    assert engine.calls == [LOAD, "score", "admit boot-1 7"]


async def test_a_canary_that_passed_at_another_boot_does_not_count() -> None:
    engine = Engine(boot_id="boot-2")
    found = await proof(engine, status(canary_passed=True))
    assert found.boot_id == "boot-2"
    assert f"canary {CANARY_FACTOR}" in engine.calls


async def test_a_mismatch_is_tried_once_more_from_files() -> None:
    engine = Engine(weights=[OLD, NEW])
    assert (await proof(engine, status(canary_passed=True))).result is ProofResult.VERIFIED
    assert engine.calls.count(LOAD) == 2


@pytest.mark.parametrize(
    "engine", [Engine(weights=[OLD]), Engine(digest="e" * 64), Engine(moves=False)], ids=["stale", "bytes", "canary"]
)
async def test_an_engine_that_stays_wrong_is_never_admitted(engine: Engine) -> None:
    found = await proof(engine, status())
    assert found.result is ProofResult.MISMATCH
    assert found.detail
    assert engine.calls.count(LOAD) == 2
    assert not any(call.startswith("admit") for call in engine.calls)


async def test_a_refusal_is_no_mismatch() -> None:
    found = await proof(Engine(refuses="updating"), status(canary_passed=True))
    assert found.result is ProofResult.UNREACHABLE
    assert found.detail == "no"


async def test_an_engine_that_serves_the_version_already_is_scored_and_not_disturbed() -> None:
    engine = Engine(now=NEW)
    serving = status(state=EngineState.SERVING, verified_policy_version=7, canary_passed=True)
    assert (await proof(engine, serving)).result is ProofResult.VERIFIED
    assert engine.calls == ["score"]


async def test_an_engine_that_only_says_it_serves_the_version_is_loaded() -> None:
    engine = Engine(now=OLD)
    serving = status(state=EngineState.SERVING, verified_policy_version=7, canary_passed=True)
    assert (await proof(engine, serving)).result is ProofResult.VERIFIED
    assert engine.calls == ["score", LOAD, "score", "admit boot-1 7"]


def known(result: ProofResult = ProofResult.VERIFIED, version: int = 7, boot_id: str = "boot-1") -> EngineProof:
    return EngineProof(name="e0", boot_id=boot_id, policy_version=version, result=result)


SERVING = status(state=EngineState.SERVING, verified_policy_version=7)


@pytest.mark.parametrize(
    ("seen", "proof", "needed"),
    [
        (status(), None, True),
        (SERVING, known(), False),
        (SERVING, known(boot_id="boot-0"), True),
        (SERVING, known(version=6), True),
        (status(), known(), True),
        (status(), known(ProofResult.MISMATCH), False),
        (status(), known(ProofResult.MISMATCH, version=6), True),
        (SERVING, known(ProofResult.INDISTINGUISHABLE), False),
        (SERVING, known(ProofResult.UNREACHABLE), True),
        (status(state=EngineState.STARTING), None, False),
        (status(state=EngineState.UPDATING), None, False),
    ],
)
def test_who_needs_a_proof(seen: EngineStatus, proof: EngineProof | None, needed: bool) -> None:
    assert needs_proof(seen, proof, 7) is needed
