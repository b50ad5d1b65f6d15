"""Evidence done again: each session of a verdict in a fresh cell, each answer beside the recorded one."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault
from spade_contracts.verdicts import Exchange, Operation, Trace
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify.record import fault_text, perform

WAIT_SECONDS = 60.0
NOT_REACHED = ""
"""Stands for the answer of an exchange that the program did not live to see."""
_FAULT = "fault "
_LOADED = "the program loads"


@dataclass(frozen=True)
class Replayed:
    """One exchange, as recorded and as it is now."""

    exchange: Exchange
    now: str
    """The answer of today, or NOT_REACHED."""

    @property
    def same(self) -> bool:
        """Whether today's answer is the recorded one. Of faults the kind counts; their texts hold limits and times."""
        return comparable(self.exchange.answer) == comparable(self.now)


async def replay(trace: Trace, source: str, pool: SandboxPool, limits: SandboxLimits) -> tuple[Replayed, ...]:
    """Do one session again. Raises InfrastructureFault; a fault of the program is an answer like any other."""
    return tuple([replayed async for replayed in _replay(trace, source, pool, limits)])


async def _replay(trace: Trace, source: str, pool: SandboxPool, limits: SandboxLimits) -> AsyncIterator[Replayed]:
    opening, rest = _opening(trace)
    try:
        async with pool.session(
            source,
            limits,
            trace.domain,
            max_turns=trace.max_turns,
            wait_seconds=WAIT_SECONDS,
            other_hash_seed=trace.other_hash_seed,
        ) as session:
            if opening is not None:
                yield Replayed(opening, _LOADED)
            over = False
            for exchange, now in zip(rest, await asyncio.gather(*(perform(session, one) for one in rest)), strict=True):
                yield Replayed(exchange, NOT_REACHED if over else now)
                over = over or now.startswith(_FAULT)
    except EnvironmentFault as error:
        yield Replayed(opening or Exchange(op=Operation.OPEN, answer=_LOADED), fault_text(error))
        for exchange in rest:
            yield Replayed(exchange, NOT_REACHED)


def comparable(answer: str) -> str:
    """What of an answer must be equal: all of it, or the kind of a fault."""
    return answer.partition(":")[0] if answer.startswith(_FAULT) else answer


def changed_fields(replayed: Replayed) -> tuple[str, ...]:
    """Names of the parts in which two answers differ, as far as both are objects."""
    try:
        recorded, now = json.loads(replayed.exchange.answer), json.loads(replayed.now)
    except ValueError:
        return ()
    if not isinstance(recorded, dict) or not isinstance(now, dict):
        return ()
    return tuple(sorted(name for name in recorded.keys() | now.keys() if recorded.get(name) != now.get(name)))


def differs(replays: Sequence[Sequence[Replayed]]) -> bool:
    """Whether any answer of any session is another one now."""
    return any(not replayed.same for session in replays for replayed in session)


def _opening(trace: Trace) -> tuple[Exchange | None, tuple[Exchange, ...]]:
    if trace.exchanges and trace.exchanges[0].op is Operation.OPEN:
        return trace.exchanges[0], trace.exchanges[1:]
    return None, trace.exchanges
