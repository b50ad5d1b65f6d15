"""What a pod knows of itself, and whether it may take a session now."""

import secrets
from dataclasses import dataclass, field

from spade_contracts.protocol import PROTOCOL_VERSION, FaultKind, Load
from spade_contracts.statuses import ProbeResult, SandboxStatus
from spade_sandbox.pod.settings import Admit


@dataclass
class PodState:
    """The one changing thing of a pod; the server owns it, the status port reads it."""

    capacity: int
    admit: Admit
    boot_id: str = field(default_factory=lambda: secrets.token_hex(8))
    walls: dict[str, bool] = field(default_factory=dict)
    """Empty until they have been tried."""
    probe: ProbeResult | None = None
    sessions: int = 0
    draining: bool = False
    served: bool = False

    @property
    def isolated(self) -> bool:
        """Whether gVisor and a closed network have been proven at this boot."""
        return self.probe is not None and self.probe.gvisor and self.probe.network_closed

    def refusal(self) -> tuple[FaultKind, str] | None:
        """Why no session can be opened now, or None."""
        if not self.walls:
            return FaultKind.NOT_ISOLATED, "the walls have not been tried yet"
        missing = sorted(name for name, stands in self.walls.items() if not stands)
        if missing:
            return FaultKind.NOT_ISOLATED, f"walls are missing: {', '.join(missing)}"
        if self.admit is Admit.ISOLATED and not self.isolated:
            return FaultKind.NOT_ISOLATED, "isolation is not proven; see this pod's /status"
        if self.draining:
            return FaultKind.CAPACITY, "the pod is draining"
        if self.sessions >= self.capacity:
            return FaultKind.CAPACITY, f"all {self.capacity} sessions are taken"
        return None

    def load(self) -> Load:
        """How full the pod is, with no capacity while it takes nobody."""
        refusal = self.refusal()
        closed = self.draining or (refusal is not None and refusal[0] is FaultKind.NOT_ISOLATED)
        return Load(sessions=self.sessions, capacity=0 if closed else self.capacity)

    def status(self) -> SandboxStatus:
        """The body of `GET /status`."""
        return SandboxStatus(
            boot_id=self.boot_id,
            protocol=PROTOCOL_VERSION,
            walls=dict(self.walls),
            probe=self.probe,
            sessions=self.sessions,
            capacity=self.capacity,
            draining=self.draining,
            served=self.served,
        )
