"""Sessions over several pods: find the pods, place on the least loaded, wait in line when all are full.

Pods are found by resolving names again and again, so pods added during a rollout get sessions. Only clients queue: a
full pod refuses, and the waiting session goes wherever a place is free first. An `open` may be tried again on another
pod, because a program that has not begun has no state; a step never is. A pod that stops answering, loses session
after session or breaks the protocol is given up and tried again later (`pods.py` says when).
"""

import asyncio
import contextlib
import hashlib
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault, InvalidInput, SpadeError
from spade_contracts.protocol import MAX_SOURCE_CHARACTERS, Open
from spade_sandbox.client.errors import NoCapacity, Refused, SandboxLost
from spade_sandbox.client.line import Line
from spade_sandbox.client.link import Dial, PodLink, connect_pod
from spade_sandbox.client.opening import Source, open_on
from spade_sandbox.client.pods import Address, Pod
from spade_sandbox.client.resolve import RESOLVE_SECONDS, Resolve, resolve
from spade_sandbox.client.session import SandboxSession
from spade_sandbox.client.stats import OK, PoolStats, outcome_of

PROBE_SECONDS = 5.0
"""Pause between two probes of a connected pod, which say how full it is: other workers use it too."""
PROBE_DEADLINE_SECONDS = 10.0
MAX_FAILED_PROBES = 3
"""A pod that answers none of so many in a row is given up, and its sessions with it."""
OPEN_ATTEMPTS = 5
"""Pods that may be lost under one `open` before it is given up."""
WAIT_SECONDS = 600.0


class SandboxPool:
    """Trusted client of a run's sandbox pods. Use as an async context manager, in one event loop."""

    def __init__(
        self,
        targets: str | Sequence[str],
        token: str,
        *,
        observe_step: Callable[[float], None] = lambda seconds: None,
        observe_session: Callable[[str], None] = lambda outcome: None,
        dial: Dial | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        """`targets`: names or addresses, each `host` or `host:port`; a name stands for all its A records.

        `dial` connects to pods by other means than TCP, `resolve` finds them by other means than the system's resolver.
        """
        self._targets = (targets,) if isinstance(targets, str) else tuple(targets)
        self._token = token
        self._dial = dial
        self._resolve = resolve
        self._pods: dict[Address, Pod] = {}
        self._line = Line(self._least_loaded)
        self._resolver: asyncio.Task[None] | None = None
        self.stats = PoolStats(observe_step=observe_step, observe_session=observe_session)

    async def __aenter__(self) -> "SandboxPool":
        self._resolver = self._start(self._resolve_forever())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [task for task in (self._resolver, *(pod.keeper for pod in self._pods.values())) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for pod in self._pods.values():
            if pod.link is not None:
                pod.link.close()

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
        other_hash_seed: bool = False,
    ) -> AsyncIterator[SandboxSession]:
        """A live program, closed at the end of the block.

        `other_hash_seed` runs it with another PYTHONHASHSEED than usual.

        Raises EnvironmentFault if it does not load, NoCapacity if no pod has room within `wait_seconds`, SandboxLost
        if pods are lost again and again while it opens, and InvalidInput for a source that no pod would take.
        """
        if len(source) > MAX_SOURCE_CHARACTERS:
            raise InvalidInput("source", f"has {len(source)} characters; at most {MAX_SOURCE_CHARACTERS} can be sent")
        text = source.encode("utf-8", "replace").decode()
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        self.stats.wanted += 1
        try:
            pod, link, number = await self._open(
                Source(text, sha256),
                lambda n: Open(
                    id=n,
                    sha256=sha256,
                    domain=domain,
                    max_turns=max_turns,
                    limits=limits,
                    other_hash_seed=other_hash_seed,
                ),
                wait_seconds,
            )
        except SpadeError as error:
            self.stats.count_session(error)
            raise
        finally:
            self.stats.wanted -= 1
        session = SandboxSession(link, number, limits, self.stats, domain)
        self.stats.open += 1
        try:
            yield session
        finally:
            self.stats.open -= 1
            try:
                await session.close()
            finally:
                link.sessions.discard(number)
                pod.sessions -= 1
                pod.session_ended(link, session.error)
                self.stats.count_session(session.error)
                pod.full_until = 0.0
                self._line.serve()

    async def _open(self, source: Source, make: Callable[[int], Open], wait_seconds: float) -> tuple[Pod, PodLink, int]:
        """Open on one pod after another, each chosen by the line, and count the session as the pod's."""
        loop = asyncio.get_running_loop()
        ticket, deadline = self._line.ticket(), loop.time() + wait_seconds
        losses = 0
        while True:
            try:
                pod = await self._line.wait(ticket, deadline)
            except TimeoutError:
                raise NoCapacity(self._why_none()) from None
            link = pod.link
            try:
                if link is None:
                    continue  # lost since it was chosen
                number = await open_on(link, source, make)
                pod.sessions += 1
            except Refused as error:
                pod.refused(loop.time(), error)
                loop.call_at(pod.full_until, self._line.serve)
            except (SandboxLost, EnvironmentFault) as error:
                assert link is not None
                self.stats.count(outcome_of(error))
                pod.session_ended(link, error)
                losses += 1
                if isinstance(error, EnvironmentFault) or losses == OPEN_ATTEMPTS:
                    raise
            else:
                self.stats.count(OK)
                return pod, link, number
            finally:
                pod.opening -= 1
                self._line.serve()
            if loop.time() >= deadline:
                raise NoCapacity(self._why_none())

    def _least_loaded(self) -> Pod | None:
        now = asyncio.get_running_loop().time()
        rooms = [(room, pod) for pod in self._pods.values() if (room := pod.room(now)) is not None]
        return min(rooms, key=lambda entry: entry[0])[1] if rooms else None

    def _why_none(self) -> str:
        if not self._pods:
            return f"{', '.join(self._targets)} resolves to no sandbox pod"
        problems = "; ".join(f"{pod.address[0]}: {pod.problem[:500]}" for pod in tuple(self._pods.values())[:5])
        return f"none of {len(self._pods)} sandbox pods took the session in time ({problems})"

    def _start(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        """Run until the pool ends. Should it fail, that is a bug of ours, and all sessions that wait are told."""

        def ended(task: "asyncio.Task[None]") -> None:
            if not task.cancelled() and (error := task.exception()) is not None:
                self._line.fail(error)

        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(ended)
        return task

    async def _resolve_forever(self) -> None:
        while True:
            found, complete = await self._resolve(self._targets)
            for address in sorted(found - self._pods.keys()):
                pod = self._pods[address] = Pod(address, evictions=self.stats.evictions)
                pod.keeper = self._start(self._keep(pod))
            for address, pod in tuple(self._pods.items()):
                if complete:
                    pod.gone = address not in found
                if pod.gone and pod.sessions == 0 and pod.opening == 0:
                    del self._pods[address]
                    self._leave(pod)
            self._line.serve()
            await asyncio.sleep(RESOLVE_SECONDS)

    def _leave(self, pod: Pod) -> None:
        if pod.keeper is not None:
            pod.keeper.cancel()
        if pod.link is not None:
            pod.link.close()

    async def _keep(self, pod: Pod) -> None:
        """Keep one pod connected and probed until cancelled."""
        while True:
            try:
                link = await connect_pod(*pod.address, self._token, dial=self._dial)
            except (SandboxLost, Refused) as error:
                pod.disconnected(error)
            else:
                pod.connected(link)
                self._line.serve()
                await self._probe_until_lost(pod, link)
                pod.disconnected(link.lost.result())
            # spread, so that the workers of a run do not all come back to a restarted pod in the same instant
            await asyncio.sleep(pod.pause_seconds() * random.uniform(0.5, 1.5))  # noqa: S311

    async def _probe_until_lost(self, pod: Pod, link: PodLink) -> None:
        failed = 0
        while True:
            await asyncio.wait({link.lost}, timeout=PROBE_SECONDS)
            if link.lost.done():
                return
            answered = await link.look(PROBE_DEADLINE_SECONDS)
            failed = 0 if answered else failed + 1
            pod.silent = not answered
            if answered:
                self._line.serve()
            else:
                pod.problem = f"left {failed} probes unanswered"
            if failed == MAX_FAILED_PROBES:
                pod.evict("silent", pod.problem)
