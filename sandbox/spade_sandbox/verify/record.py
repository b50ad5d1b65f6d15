"""How a session becomes evidence: each operation an exchange, each answer one text that can be compared.

`perform` does an exchange again, so anybody with the program can check a verdict by replaying its traces.
"""

import json
from dataclasses import asdict
from typing import Any

from spade_contracts.errors import EnvironmentFault
from spade_contracts.verdicts import Exchange, Operation, shown
from spade_sandbox.client import CallResult, Inspection, SandboxSession, StepResult, Tool

Result = str | StepResult | CallResult | Inspection | tuple[Tool, ...]


def answer_text(result: Result) -> str:
    """A result as evidence holds it: compact JSON with sorted keys, cut with its digest when it is long."""
    value: Any
    if isinstance(result, str):
        value = {"text": result}
    elif isinstance(result, tuple):
        value = [asdict(tool) for tool in result]
    else:
        value = asdict(result)
    return shown(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True))


def fault_text(error: EnvironmentFault) -> str:
    """A program's fault as evidence holds it."""
    return shown(f"fault {error.kind}: {error}")


async def perform(session: SandboxSession, exchange: Exchange) -> str:
    """Do one exchange of a trace again and return what it answers now; a program's fault is an answer too.

    An `open` is not done here: it is the opening of the session itself. Raises InfrastructureFault.
    """
    try:
        return answer_text(await _do(session, exchange))
    except EnvironmentFault as error:
        return fault_text(error)


async def _do(session: SandboxSession, exchange: Exchange) -> Result:
    match exchange.op:
        case Operation.RESET:
            return await session.reset(exchange.seed)
        case Operation.STEP:
            return await session.step(exchange.action)
        case Operation.CALL:
            return await session.call(exchange.name, exchange.arguments)
        case Operation.TOOLS:
            return await session.tools()
        case Operation.INSPECT:
            return await session.inspect()
        case Operation.SOLUTION | Operation.OPEN:
            return await session.solution()
