"""What a client thinks of one pod: whether it takes a session now, and how long to leave it alone. No I/O."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from spade_sandbox.client.errors import ProtocolViolation, Refused, SandboxLost
from spade_sandbox.client.link import PodLink

RECONNECT_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses before the next try to connect; the last one repeats."""
DISTRUST_SECONDS = (5.0, 15.0, 60.0)
"""The same after a pod broke the protocol, fell silent or lost session after session."""
FULL_SECONDS = 0.5
"""How long a pod that refused is left alone, unless one of our own sessions ends on it."""
MAX_STRIKES = 3
"""Sessions in a row that may be lost on one connection."""
MAX_CAPACITY = 1024
"""A pod that claims more is taken to have this: what it claims of itself decides how much we entrust to it."""

Address = tuple[str, int]


@dataclass(eq=False)
class Pod:
    """One address and, while connected, its link."""

    address: Address
    link: PodLink | None = None
    opening: int = 0
    """Sessions placed here whose `open` is not answered yet."""
    sessions: int = 0
    """Our own live sessions."""
    full_until: float = 0.0
    silent: bool = False
    """The last probe was not answered: it keeps its sessions and gets no new one."""
    gone: bool = False
    """No longer resolved: it gets no new session, and is left when it has none."""
    problem: str = "not connected yet"
    strikes: int = 0
    failures: int = 0
    """Ends of its connection since a session went well here."""
    offences: int = 0
    """Those of them that were its own doing."""
    keeper: "asyncio.Task[None] | None" = None
    evictions: Counter[str] = field(default_factory=Counter)
    """The pool's count of pods given up, by reason."""

    def room(self, now: float) -> float | None:
        """Share of the pod that is taken, or None if it should not be asked now.

        Its own word counts, but never below what we know. A pod that looked full or closed when it last spoke is asked
        again, by one session at a time.
        """
        if self.link is None or self.link.lost.done() or self.gone or self.silent or now < self.full_until:
            return None
        capacity = min(self.link.load.capacity, MAX_CAPACITY)
        taken = max(self.link.load.sessions, self.sessions) + self.opening
        if taken < capacity:
            return taken / capacity
        return None if self.opening else 1.0

    def connected(self, link: PodLink) -> None:
        """A fresh, greeted connection."""
        self.link = link
        self.problem, self.full_until = "", 0.0
        self.strikes, self.silent = 0, False

    def refused(self, now: float, refusal: Refused) -> None:
        """The pod has no room, by its own word."""
        self.problem = str(refusal)
        self.full_until = now + FULL_SECONDS

    def session_ended(self, link: PodLink, error: BaseException | None) -> None:
        """Judge the pod by how a session on it ended, its opening included."""
        if link.lost.done():
            return  # that is judged once, when the connection's end is
        if not isinstance(error, SandboxLost):
            self.problem = ""
            self.strikes = self.failures = self.offences = 0
            return
        self.strikes += 1
        self.problem = str(error)
        if self.strikes >= MAX_STRIKES:
            self.evict("losing", f"lost {self.strikes} sessions in a row, the last: {error}")

    def evict(self, reason: str, why: str) -> None:
        """Drop the connection and its sessions; the pod is tried again after a longer pause."""
        if self.link is None or self.link.lost.done():
            return
        self.evictions[reason] += 1
        self.offences += 1
        self.link.give_up_silent(why)

    def disconnected(self, error: Exception) -> None:
        """The connection ended, or none could be made."""
        self.link = None
        self.problem = str(error)
        self.failures += 1
        if isinstance(error, ProtocolViolation):
            self.evictions["violation"] += 1
            self.offences += 1

    def pause_seconds(self) -> float:
        """How long to wait before it is tried again."""
        pause = RECONNECT_SECONDS[min(self.failures, len(RECONNECT_SECONDS)) - 1]
        if self.offences:
            pause = max(pause, DISTRUST_SECONDS[min(self.offences, len(DISTRUST_SECONDS)) - 1])
        return pause
