"""Keeps the target's engines proven: polls them, and proves whoever needs it, all at once."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import aiohttp

from spade_contracts.statuses import EngineProof, EngineTarget, ProofResult
from spade_trainer.learner.board import Board, Situation
from spade_trainer.learner.figures import Figures
from spade_trainer.learner.neighbours import MakeClient
from spade_trainer.weights.engine_client import EngineClient, EngineFault
from spade_trainer.weights.prover import Assignment, needs_proof, prove
from spade_trainer.weights.transport import Transport

POLL_SECONDS = 2.0
"""Between two looks at an engine: a restarted one is proven again without a new target."""
MISSES = 3
"""Looks in a row without an answer before an engine is called unreachable: a busy machine answers late."""
LOOK_SECONDS = 0.1
"""Between two looks at the board, which cost nothing."""
log = logging.getLogger(__name__)


async def keep_proven(
    board: Board, client: MakeClient, transport: Transport, figures: Figures, on_proof: Callable[[EngineProof], None]
) -> None:
    """Run for as long as the learner does.

    client: makes the client of an engine's host. on_proof: told of each proof of an engine that answered.
    """
    around = Surroundings(board, figures, transport, on_proof)
    due: dict[str, float] = {}
    running: dict[str, asyncio.Task[None]] = {}
    loop = asyncio.get_running_loop()
    known: Assignment | None = None
    async with aiohttp.ClientSession() as session:
        while True:
            now = board.read()
            wanted = engines_to_watch(now)
            if now.assignment is not known:
                known, due = now.assignment, {}
            for engine in wanted:
                name = engine.name
                if now.assignment is None or name in running or loop.time() < due.get(name, 0.0):
                    continue
                due[name] = loop.time() + POLL_SECONDS
                look = _look(around, client(session, engine.host), engine, now.assignment)
                running[name] = asyncio.create_task(look)
                running[name].add_done_callback(partial(_finished, running, name))
            await asyncio.sleep(LOOK_SECONDS)


def engines_to_watch(now: Situation) -> tuple[EngineTarget, ...]:
    """The target's engines, once the target's version is exported; none before."""
    if now.target is None or now.assignment is None:
        return ()
    reached = now.assignment.policy.manifest.policy_version == now.target.policy_version
    return now.target.engines if reached else ()


@dataclass(frozen=True)
class Surroundings:
    """What every look needs."""

    board: Board
    figures: Figures
    transport: Transport
    on_proof: Callable[[EngineProof], None]
    misses: dict[str, int] = field(default_factory=dict)
    """Looks in a row that an engine has not answered, by name."""


async def _look(around: Surroundings, client: EngineClient, engine: EngineTarget, assignment: Assignment) -> None:
    """One look at one engine, and its proof if it needs one."""
    board = around.board
    version = assignment.policy.manifest.policy_version
    known = board.read().proofs.get(engine.name)
    try:
        status = await client.status()
    except EngineFault as fault:
        boot_id = known.boot_id if known else ""
        lost = EngineProof(
            name=engine.name,
            boot_id=boot_id,
            policy_version=version,
            result=ProofResult.UNREACHABLE,
            detail=str(fault)[:500],
        )
        around.misses[engine.name] = around.misses.get(engine.name, 0) + 1
        if around.misses[engine.name] == MISSES:
            _record(board, lost)
        return
    around.misses[engine.name] = 0
    if not needs_proof(status, known, version):
        return
    board.transform(lambda now: replace(now, proving=now.proving + 1))
    try:
        proof = await prove(
            client,
            engine.name,
            status,
            assignment,
            transport=around.transport,
            on_transfer=around.figures.transferred,
        )
    finally:
        board.transform(lambda now: replace(now, proving=now.proving - 1))
    log.info("engine %s at policy %d: %s, %s", proof.name, version, proof.result, proof.detail)
    around.on_proof(proof)
    _record(board, proof)


def _record(board: Board, proof: EngineProof) -> None:
    board.transform(lambda now: replace(now, proofs={**now.proofs, proof.name: proof}))


def _finished(running: dict[str, asyncio.Task[None]], name: str, task: asyncio.Task[None]) -> None:
    """Let the engine be looked at again. A look never raises; if it does, it is a fault of ours and must be seen."""
    del running[name]
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("the look at an engine failed", exc_info=error)
