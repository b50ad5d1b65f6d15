"""Sessions over several pods: find the pods, place on the least loaded, wait when all are full.

Pods are found by resolving names again and again, so pods added during a rollout get sessions. Only clients queue: a
full pod refuses, and the waiting session goes wherever a place is free first. An `open` may be tried again on another
pod, because a program that has not begun has no state; a step never is.
"""

import asyncio
import contextlib
import hashlib
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.ports import SANDBOX_SESSIONS
from spade_contracts.protocol import FaultKind, Open, OpenResult, Put, PutResult
from spade_sandbox.client.errors import NoCapacity, Refused, SandboxLost
from spade_sandbox.client.link import PodLink, connect_pod
from spade_sandbox.client.session import GRACE_SECONDS, SandboxSession
from spade_sandbox.client.stats import PoolStats

RESOLVE_SECONDS = 2.0
RECONNECT_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses before the next try to connect; the last one repeats."""
FULL_SECONDS = 0.5
"""How long a pod that refused is left alone, unless one of our own sessions ends on it."""
FORK_SECONDS = 30.0
PUT_SECONDS = 30.0
OPEN_ATTEMPTS = 5
"""Pods that may be lost under one `open` before it is given up."""
WAIT_SECONDS = 600.0

Address = tuple[str, int]


@dataclass(eq=False)
class _Pod:
    """One address and, while connected, its link."""

    address: Address
    link: PodLink | None = None
    opening: int = 0
    """Opens that the pod has not answered yet."""
    sessions: int = 0
    """Our own live sessions."""
    full_until: float = 0.0
    gone: bool = False
    """No longer resolved: it gets no new session, and is left when it has none."""
    problem: str = "not connected yet"
    keeper: "asyncio.Task[None] | None" = None

    def room(self, now: float) -> float | None:
        """Share of the pod that is taken, or None if it should not be asked now.

        A pod that looked full or closed when it last spoke is asked again, by one session at a time.
        """
        if self.link is None or self.link.lost.done() or self.gone or now < self.full_until:
            return None
        load = self.link.load
        taken = load.sessions + self.opening
        if taken < load.capacity:
            return taken / load.capacity
        return None if self.opening else 1.0


class SandboxPool:
    """Trusted client of a run's sandbox pods. Use as an async context manager, in one event loop."""

    def __init__(
        self,
        targets: str | Sequence[str],
        token: str,
        *,
        observe_step: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        """`targets`: names or addresses, each `host` or `host:port`; a name stands for all its A records."""
        self._targets = (targets,) if isinstance(targets, str) else tuple(targets)
        self._token = token
        self._pods: dict[Address, _Pod] = {}
        self._changed = asyncio.Condition()
        self._resolver: asyncio.Task[None] | None = None
        self.stats = PoolStats(observe_step=observe_step)

    async def __aenter__(self) -> "SandboxPool":
        self._resolver = asyncio.get_running_loop().create_task(self._resolve_forever())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [task for task in (self._resolver, *(pod.keeper for pod in self._pods.values())) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        links = [pod.link for pod in self._pods.values() if pod.link is not None]
        await asyncio.gather(*(link.close() for link in links), return_exceptions=True)

    @property
    def pods(self) -> dict[str, bool]:
        """Known pods by address, and whether each is connected."""
        return {f"{host}:{port}": pod.link is not None for (host, port), pod in self._pods.items()}

    @contextlib.asynccontextmanager
    async def session(
        self,
        source: str,
        limits: SandboxLimits,
        domain: Domain = Domain.GAMES,
        *,
        max_turns: int,
        wait_seconds: float = WAIT_SECONDS,
    ) -> AsyncIterator[SandboxSession]:
        """A live program, closed at the end of the block.

        Raises EnvironmentFault if it does not load, NoCapacity if no pod has room within `wait_seconds`, and
        SandboxLost if pods are lost again and again while it opens.
        """
        self.stats.wanted += 1
        try:
            pod, session = await self._open(source, limits, domain, max_turns, wait_seconds)
        finally:
            self.stats.wanted -= 1
        self.stats.open += 1
        pod.sessions += 1
        try:
            yield session
        finally:
            self.stats.open -= 1
            pod.sessions -= 1
            await session.close()
            pod.full_until = 0.0
            await self._notify()

    async def _open(
        self, source: str, limits: SandboxLimits, domain: Domain, max_turns: int, wait_seconds: float
    ) -> tuple[_Pod, SandboxSession]:
        text = source.encode("utf-8", "replace").decode()
        digest = hashlib.sha256(text.encode()).hexdigest()
        losses = 0
        deadline = asyncio.get_running_loop().time() + wait_seconds
        while True:
            pod = await self._place(deadline)
            link = pod.link
            assert link is not None
            pod.opening += 1
            try:
                if digest not in link.sources:
                    await link.request(lambda n: Put(id=n, sha256=digest, source=text), PutResult, PUT_SECONDS)
                    link.sources.add(digest)
                result = await link.request(
                    lambda n: Open(id=n, sha256=digest, domain=domain, max_turns=max_turns, limits=limits),
                    OpenResult,
                    limits.load_seconds + FORK_SECONDS + GRACE_SECONDS,
                )
            except Refused as error:
                if error.kind is FaultKind.UNKNOWN_SOURCE:
                    link.sources.discard(digest)
                elif error.kind in (FaultKind.CAPACITY, FaultKind.NOT_ISOLATED):
                    pod.problem = str(error)
                    pod.full_until = asyncio.get_running_loop().time() + FULL_SECONDS
                else:
                    raise link.give_up(f"refused to open a session ({error})") from error
            except SandboxLost as error:
                pod.problem = str(error)
                losses += 1
                self.stats.count("lost")
                if losses == OPEN_ATTEMPTS:
                    raise
            else:
                link.load = result.load
                return pod, SandboxSession(link, result.session, limits, self.stats)
            finally:
                pod.opening -= 1

    async def _place(self, deadline: float) -> _Pod:
        """The least loaded pod with room; waits for one until the deadline."""
        loop = asyncio.get_running_loop()
        while True:
            for keeper in (self._resolver, *(pod.keeper for pod in self._pods.values())):
                if keeper is not None and keeper.done() and not keeper.cancelled():
                    keeper.result()  # a bug of ours must not look like a lack of pods
            now = loop.time()
            rooms = [(room, pod) for pod in self._pods.values() if (room := pod.room(now)) is not None]
            if rooms:
                return min(rooms, key=lambda entry: entry[0])[1]
            if now >= deadline:
                raise NoCapacity(self._why_none())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(FULL_SECONDS, deadline - now)), self._changed:
                    await self._changed.wait()

    def _why_none(self) -> str:
        if not self._pods:
            return f"{', '.join(self._targets)} resolves to no sandbox pod"
        problems = "; ".join(f"{pod.address[0]}: {pod.problem}" for pod in tuple(self._pods.values())[:5])
        return f"none of {len(self._pods)} sandbox pods took the session in time ({problems})"

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _resolve_forever(self) -> None:
        while True:
            found, complete = await _resolve(self._targets)
            for address in found - self._pods.keys():
                pod = self._pods[address] = _Pod(address)
                pod.keeper = asyncio.get_running_loop().create_task(self._keep(pod))
            for address, pod in tuple(self._pods.items()):
                if complete:
                    pod.gone = address not in found
                if pod.gone and pod.sessions == 0 and pod.opening == 0:
                    del self._pods[address]
                    await self._leave(pod)
            await asyncio.sleep(RESOLVE_SECONDS)

    async def _leave(self, pod: _Pod) -> None:
        if pod.keeper is not None:
            pod.keeper.cancel()
        if pod.link is not None:
            await pod.link.close()

    async def _keep(self, pod: _Pod) -> None:
        """Keep one pod connected until cancelled."""
        failures = 0
        while True:
            try:
                pod.link = await connect_pod(*pod.address, self._token)
                pod.full_until, pod.problem, failures = 0.0, "", 0
                await self._notify()
                pod.problem = str(await asyncio.shield(pod.link.lost))
                await pod.link.close()
            except (SandboxLost, Refused) as error:
                pod.problem = str(error)
            pod.link = None
            await asyncio.sleep(RECONNECT_SECONDS[min(failures, len(RECONNECT_SECONDS) - 1)])
            failures += 1


async def _resolve(targets: Sequence[str]) -> tuple[set[Address], bool]:
    """All addresses behind the targets, and whether every target resolved."""
    loop = asyncio.get_running_loop()
    found: set[Address] = set()
    complete = True
    for target in targets:
        host, _, port = target.rpartition(":") if target.count(":") == 1 else (target, "", "")
        try:
            infos = await loop.getaddrinfo(host, int(port or SANDBOX_SESSIONS), type=socket.SOCK_STREAM)
        except OSError:
            complete = False  # a failing resolver takes no pod away
            continue
        found |= {(str(info[4][0]), int(info[4][1])) for info in infos}
    return found, complete
