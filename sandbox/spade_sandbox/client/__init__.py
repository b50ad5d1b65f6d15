"""Trusted client of the sandbox pods: `async with SandboxPool(...) as pool, pool.session(...) as session`."""

from spade_contracts.protocol import Criterion
from spade_sandbox.client.errors import (
    InvalidReturn,
    NoCapacity,
    ProgramCrash,
    ProgramMemory,
    ProgramTimeout,
    ProtocolViolation,
    SandboxLost,
)
from spade_sandbox.client.pool import SandboxPool
from spade_sandbox.client.session import CallResult, Inspection, SandboxSession, StepResult, Tool
from spade_sandbox.client.stats import OUTCOMES, PoolStats

__all__ = [
    "OUTCOMES",
    "CallResult",
    "Criterion",
    "Inspection",
    "InvalidReturn",
    "NoCapacity",
    "PoolStats",
    "ProgramCrash",
    "ProgramMemory",
    "ProgramTimeout",
    "ProtocolViolation",
    "SandboxLost",
    "SandboxPool",
    "SandboxSession",
    "StepResult",
    "Tool",
]
