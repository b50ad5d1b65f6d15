"""Hand a policy to one engine and prove that the engine computes with it.

The order for an engine: transfer, canary if none has passed at this boot, score, verdict, admit. An engine that
already serves the wanted version is only scored: a restarted learner takes its predecessor's proof apart no further
than that, because a reload would interrupt the plays in flight.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from spade_contracts.statuses import EngineProof, EngineState, EngineStatus, ProofResult
from spade_trainer.weights.canary import run_canary
from spade_trainer.weights.engine_client import EngineClient, EngineFault
from spade_trainer.weights.probe import Expected
from spade_trainer.weights.proof import Verdict, judge
from spade_trainer.weights.transport import Policy, Transport

ATTEMPTS = 2
"""A mismatch is tried once more, from files, before it is a fault."""
ADMITTED = (ProofResult.VERIFIED, ProofResult.INDISTINGUISHABLE)
MAX_DETAIL = 500


@dataclass(frozen=True)
class Assignment:
    """What engines are to be proven at."""

    policy: Policy
    token_ids: tuple[int, ...]
    expected: Expected


def needs_proof(status: EngineStatus, proof: EngineProof | None, policy_version: int) -> bool:
    """Whether an engine must be proven now, given the latest proof under its name.

    A boot that was found wrong at this version stays refused; another boot, another version, or an engine that no
    longer says it serves what was proven, is proven again.
    """
    if status.state in (EngineState.STARTING, EngineState.UPDATING, EngineState.ASLEEP):
        return False
    if proof is None or (proof.boot_id, proof.policy_version) != (status.boot_id, policy_version):
        return True
    if proof.result is ProofResult.MISMATCH:
        return False
    return proof.result is ProofResult.UNREACHABLE or status.verified_policy_version != policy_version


async def prove(
    engine: EngineClient,
    name: str,
    status: EngineStatus,
    assignment: Assignment,
    *,
    transport: Transport,
    on_transfer: Callable[[str, float], None] = lambda transport, seconds: None,
) -> EngineProof:
    """Prove one engine; never raises for what the engine does.

    name: what the target calls it. status: its status now. on_transfer: told of every transfer, with the name of the
    transport and its seconds.
    """
    began, spent = time.monotonic(), 0.0
    version = assignment.policy.manifest.policy_version
    verdict = Verdict(ProofResult.UNREACHABLE, "")
    boot_id = status.boot_id
    try:
        held = await _already_serving(engine, status, assignment)
        if held is not None:
            verdict = held
        else:
            for _ in range(ATTEMPTS):
                transfer = await transport.transfer(engine, assignment.policy)
                on_transfer(transport.name, transfer.seconds)
                spent += transfer.seconds
                passed = status.canary_passed and transfer.boot_id == status.boot_id
                boot_id = transfer.boot_id
                verdict = await _examine(engine, assignment, transfer.checksum_equal, canary_passed=passed)
                if verdict.result in ADMITTED:
                    await engine.admit(boot_id, version)
                    break
    except EngineFault as fault:
        verdict = Verdict(ProofResult.UNREACHABLE, str(fault))
    return EngineProof(
        name=name,
        boot_id=boot_id,
        policy_version=version,
        result=verdict.result,
        detail=verdict.detail[:MAX_DETAIL],
        transfer_seconds=spent,
        proof_seconds=time.monotonic() - began - spent,
    )


async def _already_serving(engine: EngineClient, status: EngineStatus, assignment: Assignment) -> Verdict | None:
    """The verdict on an engine that serves the wanted version; None if it must be loaded."""
    if status.verified_policy_version != assignment.policy.manifest.policy_version:
        return None
    answer = await engine.score(assignment.token_ids)
    verdict = judge(answer.log_probs, assignment.expected, checksum_equal=True, canary_passed=status.canary_passed)
    same = answer.boot_id == status.boot_id
    return verdict if same and verdict.result in ADMITTED else None


async def _examine(
    engine: EngineClient, assignment: Assignment, checksum_equal: bool, *, canary_passed: bool
) -> Verdict:
    """Canary if needed, then the probe, then the verdict."""
    if not canary_passed:
        wrong = await run_canary(engine, assignment.token_ids, assignment.expected)
        if wrong:
            return Verdict(ProofResult.MISMATCH, wrong)
    answer = await engine.score(assignment.token_ids)
    return judge(answer.log_probs, assignment.expected, checksum_equal=checksum_equal, canary_passed=True)
