"""What can go wrong with a session, as the trusted side sees it.

EnvironmentFault (spade_contracts.errors)      the program misbehaved
├── ProgramTimeout  ├── ProgramMemory  ├── ProgramCrash  └── InvalidReturn
InfrastructureFault (spade_contracts.errors)   our side failed; never scored
├── SandboxLost         the pod or the connection went; the session is gone
│   └── ProtocolViolation   the pod sent what the protocol does not allow; all its sessions are given up
└── NoCapacity          no pod took the session in time
"""

from spade_contracts.errors import EnvironmentFault, InfrastructureFault
from spade_contracts.protocol import Fault, FaultKind


class ProgramTimeout(EnvironmentFault):
    """The program used more wall-clock or CPU time than it may."""


class ProgramMemory(EnvironmentFault):
    """The program used more memory than it may."""


class ProgramCrash(EnvironmentFault):
    """The program raised or broke its process."""


class InvalidReturn(EnvironmentFault):
    """The program returned a wrong type, size or value."""


class SandboxLost(InfrastructureFault):
    """The session is gone through no fault of the program. Temporary: play the episode again."""


class ProtocolViolation(SandboxLost):
    """A pod sent what the protocol does not allow, so nothing it says is believed. Temporary: another pod may do."""


class NoCapacity(InfrastructureFault):
    """No pod took the session within the time given. Temporary: more pods, or fewer sessions at once."""


def again(error: SandboxLost) -> SandboxLost:
    """A fresh error of the same type and text: one that is raised in many places would gather all their frames."""
    return type(error)(str(error))


PROGRAM_ERRORS: dict[FaultKind, type[EnvironmentFault]] = {
    FaultKind.TIMEOUT: ProgramTimeout,
    FaultKind.MEMORY: ProgramMemory,
    FaultKind.CRASH: ProgramCrash,
    FaultKind.INVALID_RETURN: InvalidReturn,
}


class Refused(Exception):
    """A pod answered with a fault that is not the program's; the pool decides what it means."""

    def __init__(self, fault: Fault) -> None:
        self.kind = fault.kind
        super().__init__(f"{fault.kind.value}: {fault.message}")


def raise_fault(fault: Fault) -> None:
    """Raise what an error answer means: an EnvironmentFault, SandboxLost, or Refused."""
    error = PROGRAM_ERRORS.get(fault.kind)
    if error is not None:
        raise error(fault.kind.value, f"{fault.kind.value}: {fault.message}", fault.limit and fault.limit.value)
    if fault.kind is FaultKind.LOST:
        raise SandboxLost(f"the pod lost the session: {fault.message}")
    raise Refused(fault)
