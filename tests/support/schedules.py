"""What goes wrong in one run of chaos, drawn from a seed: calls, watches, kills, deaths of pods, late and false words.

A schedule is frozen and knows no clock: faults wait for the n-th call, watch, pod or answer of a kind.
"""

from dataclasses import dataclass
from enum import StrEnum
from random import Random


class CallFault(StrEnum):
    """What happens to one call of the operator."""

    ANSWERED = "answered with an error, and not passed on"
    ANSWER_LOST = "passed on, but answered with an error"
    CUT = "passed on, but the connection is cut"
    SILENT = "neither passed on nor answered"
    SLOW = "passed on late"
    OVERDUE = "the connection is cut, and the call is passed on afterwards"
    KILLED_BEFORE = "the operator is killed before it is passed on"
    KILLED_AFTER = "the operator is killed after it was passed on"


class WatchFault(StrEnum):
    """What happens to one watch of the operator."""

    CUT = "the connection is cut"
    GONE = "it ends: the version is too old"
    BROKEN = "it ends with an error of the server's own"
    STALE = "an older event is told again"
    LATE = "nothing is told for a while"
    TWICE = "an event is told twice"
    LOST = "an event is not told"


class WordFault(StrEnum):
    """What happens to one answer of a pod's status port."""

    LATE = "comes late"
    REPEATED = "is the previous answer"
    REFUSED = "is an error"
    NONSENSE = "is no status"


@dataclass(frozen=True)
class CallTrouble:
    """The `nth` call (from 1) of a verb and resource; an empty word stands for any."""

    fault: CallFault
    verb: str
    resource: str
    nth: int
    code: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        which = f"{self.verb} {self.resource}".strip() or "call"
        return f"{which} #{self.nth}: {self.fault} ({self.code or '-'}, {self.seconds:.1f} s)"


@dataclass(frozen=True)
class WatchTrouble:
    """The `nth` watch (from 1) of a resource, after so many events."""

    fault: WatchFault
    resource: str
    nth: int
    after_events: int
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"watch {self.resource} #{self.nth} after {self.after_events} events: {self.fault} ({self.seconds:.1f} s)"
        )


@dataclass(frozen=True)
class Death:
    """The `nth` pod (from 1) of a role dies at an age, or is evicted: then its object goes too."""

    role: str
    nth: int
    age_seconds: float
    evicted: bool = False


@dataclass(frozen=True)
class WordTrouble:
    """The `nth` answer (from 1) that pods of a role give."""

    fault: WordFault
    role: str
    nth: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Schedule:
    """All that goes wrong in one run."""

    seed: int
    calls: tuple[CallTrouble, ...]
    watches: tuple[WatchTrouble, ...]
    deaths: tuple[Death, ...]
    words: tuple[WordTrouble, ...]
    learner_restarts: int
    """Budget of the run: some schedules spend it."""
    in_place: bool
    """A killed operator comes back under its old identity, as a container does; else as another pod that must wait."""
    sessions_wanted: int
    """Demand for sandboxes, from none to far beyond the maximum."""
    colocated: bool
    """Engines are in the learner's pods: the death of either is the group's."""

    def __str__(self) -> str:
        parts = (*self.calls, *self.watches, *self.deaths, *self.words)
        return "\n".join((f"seed {self.seed}, learner budget {self.learner_restarts}:", *map(str, parts)))


WRITES = (
    ("create", "jobs", 7), ("create", "rolloutjobs", 3), ("create", "envbatches", 2),
    ("create", "persistentvolumeclaims", 1), ("create", "leases", 1),
    ("update", "spaderuns", 25), ("update", "rolloutjobs", 3), ("update", "envbatches", 2), ("update", "leases", 6),
    ("apply", "deployments", 4), ("apply", "services", 3), ("apply", "secrets", 4), ("apply", "networkpolicies", 5),
    ("apply", "configmaps", 1), ("patch", "pods", 2), ("delete", "pods", 8), ("delete", "jobs", 6),
    ("delete", "deployments", 3),
)  # fmt: skip
"""Verb, resource, and how many such calls a run makes, about."""
READS = (
    ("list", "spaderuns", 3), ("list", "pods", 3), ("list", "jobs", 3), ("list", "networkpolicies", 3),
    ("list", "rolloutjobs", 3), ("get", "leases", 8), ("get", "jobs", 1), ("get", "", 20), ("list", "", 30),
)  # fmt: skip
WATCHED = ("spaderuns", "envbatches", "rolloutjobs", "pods", "jobs", "deployments")
CALLS = 150
"""Calls that a run makes, about."""
ERRORS = (409, 429, 500, 503, 504)
CALL_FAULTS = {
    CallFault.ANSWERED: 6, CallFault.ANSWER_LOST: 4, CallFault.CUT: 4, CallFault.SILENT: 1, CallFault.SLOW: 2,
    CallFault.OVERDUE: 2,
}  # fmt: skip
"""Weight of each."""
DEATHS = {"learner": 4, "engine": 4, "sandbox": 4, "worker": 4, "beacon": 1, "prepare": 1}


def draw(seed: int) -> Schedule:
    """The schedule of a seed."""
    random = Random(seed)
    kills = (_kill(random) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))
    calls = (_call(random) for _ in range(random.randint(2, 7)))
    return Schedule(
        seed=seed,
        calls=(*kills, *calls),
        watches=tuple(_watch(random) for _ in range(random.randint(1, 4))),
        deaths=_deaths(random),
        words=tuple(_word(random) for _ in range(random.randint(0, 4))),
        learner_restarts=random.choice((1, 3, 3)),
        in_place=random.random() < 0.6,
        sessions_wanted=random.choice((0, 0, 20, 500)),
        colocated=random.random() < 0.25,
    )


def _kill(random: Random) -> CallTrouble:
    fault = random.choice((CallFault.KILLED_BEFORE, CallFault.KILLED_AFTER))
    if random.random() < 0.5:
        verb, resource, most = random.choice(WRITES)
        return CallTrouble(fault, verb, resource, random.randint(1, most))
    return CallTrouble(fault, "", "", random.randint(1, CALLS))


def _call(random: Random) -> CallTrouble:
    (fault,) = random.choices(tuple(CALL_FAULTS), tuple(CALL_FAULTS.values()))
    verb, resource, most = random.choice(WRITES if random.random() < 0.75 else READS)
    errors = ERRORS if verb not in ("get", "list") else ERRORS[1:]
    code = random.choice(errors) if fault is CallFault.ANSWERED else 500 if fault is CallFault.ANSWER_LOST else 0
    return CallTrouble(fault, verb, resource, random.randint(1, most), code, round(random.uniform(0.1, 2.0), 1))


def _watch(random: Random) -> WatchTrouble:
    fault = random.choice(tuple(WatchFault))
    seconds = round(random.uniform(0.5, 3.0), 1)
    return WatchTrouble(fault, random.choice(WATCHED), random.randint(1, 2), random.randint(0, 8), seconds)


def _deaths(random: Random) -> tuple[Death, ...]:
    if random.random() < 0.15:
        # One group after the other dies: a small budget is spent, a large one nearly.
        return tuple(Death("learner", nth, round(random.uniform(0.1, 0.6), 1)) for nth in (1, 2, 3))
    roles = random.choices(tuple(DEATHS), tuple(DEATHS.values()), k=random.choice((0, 1, 1, 2, 2, 3)))
    return tuple(_death(random, role) for role in roles)


def _death(random: Random, role: str) -> Death:
    evicted = role in ("sandbox", "engine", "beacon") and random.random() < 0.5
    most = {"worker": 5, "prepare": 1}.get(role, 2)
    age = 0.0 if role in ("worker", "prepare") else round(random.uniform(0.2, 6.0), 1)
    return Death(role, random.randint(1, most), age, evicted)


def _word(random: Random) -> WordTrouble:
    role = random.choice(("learner", "engine", "sandbox", "worker", "beacon"))
    return WordTrouble(random.choice(tuple(WordFault)), role, random.randint(1, 12), round(random.uniform(0.5, 2.5), 1))
