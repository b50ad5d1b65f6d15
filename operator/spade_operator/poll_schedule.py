"""When each pod is asked for its status: soon where something may have happened, seldom where nothing does.

A poll costs the operator about a millisecond, so ten thousand pods cannot all be asked every second. Two rules hold it
down. A pod whose answer stays the same is asked less and less often: the pause grows with the quiet time, so that what
it waits for is noticed late by a small share of its own length. And no more than so many polls begin in a second,
whatever is due: those that have waited longest come first, and those that take part in stages get half of it at least,
so that a crowd of new sandboxes does not hold up who trains.

While workers design or play, nothing waits for the word of learner and engines: they are asked at leisure then.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from spade_contracts.labels import Role
from spade_operator.records import PodRecord

SCAN_SECONDS = 1.0
"""How long a pod that has just got its address may wait for its first poll."""
POLLS_PER_SECOND = 200.0
STEADY_POLLS_PER_SECOND = 20.0
"""For all pods that only prove something once: sandboxes and beacons, in the long run."""


@dataclass(frozen=True)
class Pace:
    """How often one role is asked."""

    first_seconds: float
    """Pause while things happen."""
    quiet_share: float
    """Pause as a share of the time since anything happened."""
    longest_seconds: float
    """No pause is longer, unless there are too many such pods for that."""
    with_family: bool
    """Whether news of one pod of a family means that others soon have some: stages follow each other."""


_STAGES = Pace(1.0, 0.05, 10.0, with_family=True)
_QUICK = Pace(0.4, 0.05, 30.0, with_family=True)
_LEISURE = Pace(3.0, 0.05, 30.0, with_family=True)
_ONCE = Pace(1.0, 0.5, 60.0, with_family=False)
PACES = {
    Role.SANDBOX: _ONCE,
    Role.BEACON: _ONCE,
    Role.WORKER: _STAGES,
    Role.ENGINE: _QUICK,
    Role.LEARNER: _QUICK,
}
"""Learner and engines are asked quickest: the next rollout waits for their word. In a stage of an hour they may be
asked seldom; workers not so, because the pool grows with the demand that they tell of."""


AWAITED = frozenset({Role.ENGINE, Role.LEARNER})
"""Roles whose news mean that others of the family soon have some, and that workers' stages do not wait for."""


def pause_seconds(pace: Pace, quiet_seconds: float, pods: int) -> float:
    """How long to wait before a pod is asked again; `pods` is how many there are of all roles of this kind."""
    longest = pace.longest_seconds
    if not pace.with_family:
        longest = max(longest, pods / STEADY_POLLS_PER_SECOND)
    return min(max(pace.first_seconds, pace.quiet_share * quiet_seconds), longest)


@dataclass
class _Entry:
    pod: PodRecord
    news_at: float
    """When its answer, its containers or its admission changed last."""
    due_at: float
    asking: bool = False


class Schedule:
    """Pods and when they are due. Times are those of the loop, given by the caller.

    at_leisure: whether a family's workers design or play.
    """

    def __init__(self, at_leisure: Callable[[str, str], bool] = lambda namespace, run: False) -> None:
        self._at_leisure = at_leisure
        self._entries: dict[str, _Entry] = {}
        self._lines: dict[bool, list[tuple[float, str]]] = {True: [], False: []}
        """Heaps of times and UIDs, of pods that take part in stages and of others. Outdated times are passed over."""
        self._stage_pods: dict[tuple[str, str], list[str]] = {}
        """By family: UIDs of those that take part in stages."""
        self._family_news: dict[tuple[str, str], float] = {}
        self._steady = 0
        self._allowance = 0.0
        self._allowed_at: float | None = None

    def scan(self, pods: Iterable[PodRecord], now: float) -> None:
        """These pods, and no others, have a status to ask for. New and changed ones are due at once."""
        present: set[str] = set()
        self._steady, self._stage_pods = 0, {}
        for pod in pods:
            uid = pod.meta.uid
            present.add(uid)
            if _pace(pod).with_family:
                self._stage_pods.setdefault(_family(pod), []).append(uid)
            else:
                self._steady += 1
            entry = self._entries.get(uid)
            if entry is None:
                self._entries[uid] = entry = _Entry(pod, now, now)
                self._line_up(uid, entry)
            elif _state(entry.pod) != _state(pod):
                entry.news_at = now
                self._hasten(uid, entry, now)
            entry.pod = pod
        for uid in self._entries.keys() - present:
            del self._entries[uid]
        self._family_news = {family: at for family, at in self._family_news.items() if family in self._stage_pods}

    def due(self, now: float, room: int) -> Iterator[PodRecord]:
        """Pods to ask now, those that have waited longest first; at most `room`. Each is asked until `asked`."""
        allowed, turn = min(room, self._take_allowance(now)), True
        while allowed > 0:
            uid = self._next(turn, now) or self._next(not turn, now)
            if uid is None:
                return
            turn = not turn
            allowed -= 1
            self._allowance -= 1
            entry = self._entries[uid]
            entry.asking = True
            yield entry.pod

    def asked(self, uid: str, now: float, *, news: bool) -> None:
        """A poll has ended; `news`: its answer was another than before, or the first that failed."""
        entry = self._entries.get(uid)
        if entry is None:
            return
        entry.asking = False
        if news:
            entry.news_at = now
            if entry.pod.meta.role in AWAITED:
                self.stir(_family(entry.pod), now)
        entry.due_at = now + self._pause(entry, now)
        self._line_up(uid, entry)

    def stir(self, family: tuple[str, str], now: float) -> None:
        """Something happened in a family: those of its pods that take part in stages are asked soon again."""
        self._family_news[family] = now
        for uid in self._stage_pods.get(family, ()):
            entry = self._entries.get(uid)
            if entry is not None:
                self._hasten(uid, entry, now + _pace(entry.pod).first_seconds)

    def _hasten(self, uid: str, entry: _Entry, at: float) -> None:
        if at < entry.due_at:
            entry.due_at = at
            self._line_up(uid, entry)

    def _line_up(self, uid: str, entry: _Entry) -> None:
        heapq.heappush(self._lines[_pace(entry.pod).with_family], (entry.due_at, uid))

    def _next(self, of_stages: bool, now: float) -> str | None:
        """The pod of one line that has been due longest; taken off it."""
        line = self._lines[of_stages]
        while line and line[0][0] <= now:
            due_at, uid = heapq.heappop(line)
            entry = self._entries.get(uid)
            if entry is not None and not entry.asking and entry.due_at == due_at:
                return uid
        return None

    def _pause(self, entry: _Entry, now: float) -> float:
        pace = _pace(entry.pod)
        if entry.pod.meta.role in AWAITED and self._at_leisure(*_family(entry.pod)):
            pace = _LEISURE
        news_at = entry.news_at
        if pace.with_family:
            news_at = max(news_at, self._family_news.get(_family(entry.pod), news_at))
        return pause_seconds(pace, now - news_at, self._steady)

    def _take_allowance(self, now: float) -> int:
        """Polls that may begin now: what has come together since the last time, no more than a second's worth."""
        since = now - self._allowed_at if self._allowed_at is not None else 1.0
        self._allowed_at = now
        self._allowance = min(POLLS_PER_SECOND, self._allowance + since * POLLS_PER_SECOND)
        return int(self._allowance)


def _pace(pod: PodRecord) -> Pace:
    assert pod.meta.role is not None
    return PACES[pod.meta.role]


def _family(pod: PodRecord) -> tuple[str, str]:
    return pod.meta.namespace, pod.meta.run


def _state(pod: PodRecord) -> tuple[object, ...]:
    """What of a pod, as the cluster shows it, may mean another answer."""
    return pod.restarts, pod.ready, pod.ip, pod.admitted_boot
