"""Trusted client of the sandbox pods: `async with SandboxPool(...) as pool, pool.session(...) as session`."""

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
from spade_sandbox.client.session import SandboxSession, StepResult
from spade_sandbox.client.stats import PoolStats

__all__ = [
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
]
