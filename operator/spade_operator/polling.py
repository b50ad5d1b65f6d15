"""Asks pods how they are, over their open status ports; the answers are facts. When, poll_schedule.py says.

Whatever a pod answers is checked against its contract, and what a sandbox answers is not trusted beyond that: answers
are cut off at a size, redirects are not followed, nothing is decompressed, and a slow pod costs one slot for a few
seconds. Nobody else is delayed by it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from functools import partial
from typing import Any

import aiohttp
from pydantic import BaseModel, ValidationError

from spade_contracts import ports
from spade_contracts.labels import Role
from spade_contracts.resources import Phase
from spade_contracts.statuses import (
    BeaconStatus,
    EngineStatus,
    LearnerStatus,
    LearnerTarget,
    SandboxStatus,
    WorkerStatus,
)
from spade_operator.facts import Facts, Poll
from spade_operator.parts import engine_part
from spade_operator.poll_schedule import SCAN_SECONDS, Schedule
from spade_operator.records import Kind, PodRecord
from spade_operator.status_request import BadAnswer, get_status

ROUND_SECONDS = 0.1
ANSWER_SECONDS = 5.0
MAX_ERROR_CHARACTERS = 200
CONCURRENT_POLLS = 128
log = logging.getLogger("spade.polling")

Address = Callable[[PodRecord, int], tuple[str, int]]
"""Host and port at which a pod's port is reached."""


@dataclass(frozen=True)
class StatusPort:
    """How one role is asked."""

    port: int
    model: type[BaseModel]
    volatile: frozenset[str] = frozenset()
    """Fields that decide nothing, so that their change alone asks for no pass."""


STATUS_PORTS: Mapping[Role, StatusPort] = {
    Role.SANDBOX: StatusPort(ports.SANDBOX_STATUS, SandboxStatus, frozenset({"sessions"})),
    Role.BEACON: StatusPort(ports.WORKER_STATUS, BeaconStatus),
    Role.WORKER: StatusPort(ports.WORKER_STATUS, WorkerStatus, frozenset({"done", "verifier_failures", "stage"})),
    Role.ENGINE: StatusPort(ports.ENGINE_STATUS, EngineStatus, frozenset({"requests_in_flight", "generated_tokens"})),
    Role.LEARNER: StatusPort(ports.LEARNER_STATUS, LearnerStatus),
}


class Word(Enum):
    """What a poll brought."""

    SAME = auto()
    FIRST = auto()
    """The pod's first answer."""
    NEWS = auto()
    """Another answer than before, or the first that failed."""


def pod_address(pod: PodRecord, port: int) -> tuple[str, int]:
    """The pod's own address."""
    return pod.ip, port


def relevant(pod: PodRecord) -> bool:
    """Whether a pod has a status to ask for now. Of the learner's pods only rank 0's answers."""
    role = pod.meta.role
    if role not in STATUS_PORTS or pod.phase != "Running" or not pod.ip or pod.meta.deleting:
        return False
    return role is not Role.LEARNER or pod.index in (None, 0)


class Poller:
    """Polls all relevant pods until cancelled. `changed` is told each pod whose answer matters, and what it brought."""

    def __init__(
        self, facts: Facts, changed: Callable[[PodRecord, Word], None], address: Address = pod_address
    ) -> None:
        self._facts, self._changed, self._address = facts, changed, address
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONCURRENT_POLLS, force_close=True),
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        self._schedule = Schedule(self._at_leisure)
        self._busy: dict[str, asyncio.Task[Word]] = {}
        """By pod UID: polls that run."""
        self.last_round: float = 0.0
        """Loop time of the last round, for the liveness check."""

    async def close(self) -> None:
        """Stop all polls and close the connections."""
        for task in self._busy.values():
            task.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)
        await self._session.close()

    async def run(self, active: Callable[[], bool]) -> None:
        """Ask whoever is due, while `active` says so."""
        loop = asyncio.get_running_loop()
        scan_at, scanned = loop.time(), -1
        while True:
            now = self.last_round = loop.time()
            if now >= scan_at and scanned != self._facts.editions[Kind.POD]:
                scanned = self._facts.editions[Kind.POD]
                self._schedule.scan(self._relevant(), now)
                scan_at = now + SCAN_SECONDS
            if active():
                for pod in self._schedule.due(now, CONCURRENT_POLLS - len(self._busy)):
                    task = asyncio.create_task(self._poll(pod))
                    self._busy[pod.meta.uid] = task
                    task.add_done_callback(partial(self._ended, pod))
            await asyncio.sleep(ROUND_SECONDS)

    def _at_leisure(self, namespace: str, name: str) -> bool:
        run = self._facts.run(namespace, name)
        return run is not None and run.status.phase in (Phase.DESIGNING, Phase.PLAYING)

    def _relevant(self) -> Iterator[PodRecord]:
        for record in self._facts.of_kind(Kind.POD):
            if isinstance(record, PodRecord):
                yield from (part for part in (record, engine_part(record)) if part is not None and relevant(part))

    def _ended(self, pod: PodRecord, task: asyncio.Task[Word]) -> None:
        self._busy.pop(pod.meta.uid, None)
        # kopf cancels what it takes for its own when its watches end; such a pod is asked again in its turn.
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("polling pod %s: %s", pod.meta.uid, error)
        word = Word.SAME if task.cancelled() or error is not None else task.result()
        self._schedule.asked(pod.meta.uid, asyncio.get_running_loop().time(), news=word is not Word.SAME)
        if word is not Word.SAME:
            self._changed(pod, word)

    async def _poll(self, pod: PodRecord) -> Word:
        """Ask one pod."""
        assert pod.meta.role is not None
        way = STATUS_PORTS[pod.meta.role]
        known = self._facts.poll(pod.meta.uid)
        now = datetime.now(UTC)
        try:
            body = await get_status(*self._address(pod, way.port), ANSWER_SECONDS)
            status = way.model.model_validate_json(body)
        except (TimeoutError, OSError, BadAnswer, ValidationError) as error:
            failures = known.failures + 1 if known else 1
            words = f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARACTERS]
            self._facts.set_poll(pod, Poll(known.status if known else None, words, now, failures))
            return Word.NEWS if known is not None and known.failures == 0 else Word.SAME
        self._facts.set_poll(pod, Poll(status, "", now))
        if known is None or known.status is None:
            return Word.FIRST
        changed = known.failures > 0 or significant(known.status, way) != significant(status, way)
        return Word.NEWS if changed else Word.SAME

    async def set_target(self, pod: PodRecord, token: str, target: LearnerTarget) -> None:
        """`PUT /target` to the learner. Raises BadAnswer, or what the connection raises, unless it acknowledges."""
        url = f"http://{ports.authority(*self._address(pod, ports.LEARNER_CONTROL))}/target"
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        async with self._session.put(
            url, data=target.model_dump_json(), headers=headers, allow_redirects=False
        ) as answer:
            if answer.status >= 300:
                text = (await answer.content.read(MAX_ERROR_CHARACTERS)).decode("utf-8", "replace")
                raise BadAnswer(f"HTTP status {answer.status}: {text}")
        self._schedule.stir((pod.meta.namespace, pod.meta.run), asyncio.get_running_loop().time())


def significant(status: BaseModel | None, way: StatusPort) -> dict[str, Any] | None:
    """The part of a status that passes look at."""
    return None if status is None else status.model_dump(exclude=set(way.volatile))
