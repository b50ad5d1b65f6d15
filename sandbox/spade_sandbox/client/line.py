"""The line of sessions that wait for a pod: first come, first served."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from spade_sandbox.client.pods import Pod


class Line:
    """`choose` gives the pod for the next session, or None while there is no room."""

    def __init__(self, choose: Callable[[], Pod | None]) -> None:
        self._choose = choose
        self._tickets = itertools.count()
        self._waiting: list[tuple[int, asyncio.Future[Pod]]] = []
        self._broken: BaseException | None = None

    def ticket(self) -> int:
        """A place in the line. A session that a pod refused comes back to the place that it had."""
        return next(self._tickets)

    async def wait(self, ticket: int, deadline: float) -> Pod:
        """The pod for this ticket, with its `opening` counted up. Raises TimeoutError at the deadline (loop time)."""
        if self._broken is not None:
            raise self._broken
        turn: asyncio.Future[Pod] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (ticket, turn))
        self.serve()
        try:
            if not turn.done():
                async with asyncio.timeout_at(deadline):
                    await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                turn.result().opening -= 1  # placed and given up in the same instant
                self.serve()
            raise
        return turn.result()

    def serve(self) -> None:
        """Place as many as there is room for. To be called whenever there may be more room."""
        while self._waiting:
            if self._waiting[0][1].done():
                heapq.heappop(self._waiting)
                continue
            pod = self._choose()
            if pod is None:
                return
            pod.opening += 1
            heapq.heappop(self._waiting)[1].set_result(pod)

    def fail(self, error: BaseException) -> None:
        """Let all who wait, now and later, raise this: a bug of ours must not look like a lack of pods."""
        self._broken = error
        for _, turn in self._waiting:
            if not turn.done():
                turn.set_exception(error)
        self._waiting.clear()
