"""Canaries: known good and known bad programs that go through the gate each cycle, so that its error is a figure.

The gate is asked as for any other program (`judge`), about a text that is made anew for each cycle, so that it cannot
tell a canary by name, digest, path or position. A bad one that is accepted is a false accept: then no verdict of the
cycle can be believed. A good one that is rejected is a false reject, unless it was for being known already, which is
true of the text and no error of the gate.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from spade_contracts.canaries import BAD, FALSE_ACCEPTS, FALSE_REJECTS, GOOD
from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import OptionalStage
from spade_contracts.errors import InfrastructureFault
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify.disguise import disguise

EXPECTATION = "# expect: "
"""Begins a canary's first line; then `accepted`, or the stage that must reject it."""
ABOUT_THE_TEXT = frozenset({Stage.NOVELTY, Stage.CONTAMINATION})
"""Stages that compare a program with others; a rejection there says nothing of how well the gate sees verifiers."""

TURNS = 25
"""Turns that the solution of every good canary fits into. A run that plays fewer says nothing of the gate by that."""

JudgeSource = Callable[[str], Awaitable[Verdict]]
"""A program's text → the gate's word on it."""


class CanaryUnjudged(InfrastructureFault):
    """Sandboxes failed under the gate, so its error is not known. Temporary: without it nothing is admitted."""


@dataclass(frozen=True)
class Canary:
    """A program whose verdict is known beforehand."""

    name: str
    """For people: file name without its ending."""
    expected: Stage
    """The stage that must reject it; `accepted` for a good one."""
    source: str

    @property
    def good(self) -> bool:
        """Whether the gate must accept it."""
        return self.expected is Stage.ACCEPTED


@dataclass(frozen=True)
class Sighting:
    """What the gate said of one canary."""

    canary: Canary
    source: str
    """The text that was judged."""
    verdict: Verdict

    @property
    def false_accept(self) -> bool:
        """A bad program was let through."""
        return not self.canary.good and self.verdict.accepted

    @property
    def false_reject(self) -> bool:
        """A good program was turned away for what it does."""
        return self.canary.good and not self.verdict.accepted and self.verdict.stage not in ABOUT_THE_TEXT


def shipped(domain: Domain) -> tuple[Canary, ...]:
    """The canaries that come with this package, by name."""
    return load(files("spade_sandbox.verify").joinpath("canary_programs"), domain)


def load(folder: Traversable, domain: Domain) -> tuple[Canary, ...]:
    """The canaries of a domain in `FOLDER/{games,tools}/{good,bad}/NAME.py`, by name.

    Raises ValueError for a file whose first line does not say what is expected, or says what its folder does not.
    """
    found = []
    for kind in (GOOD, BAD):
        for file in folder.joinpath(domain.value.lower(), kind).iterdir():
            if not file.name.endswith(".py"):
                continue
            first, _, source = file.read_text(encoding="utf-8").partition("\n")
            canary = Canary(file.name.removesuffix(".py"), Stage(first.removeprefix(EXPECTATION)), source)
            if not first.startswith(EXPECTATION) or canary.good != (kind == GOOD):
                raise ValueError(f"{file} is in folder {kind}, but its first line is {first!r}")
            found.append(canary)
    return tuple(sorted(found, key=lambda canary: (canary.expected is not Stage.ACCEPTED, canary.name)))


def draw(
    canaries: Sequence[Canary], number: int, stages: Collection[OptionalStage], rng: random.Random
) -> tuple[Canary, ...]:
    """So many good and so many bad ones, mixed. Bad ones that only a stage which is off would catch are left out."""
    on = {Stage.PARSE, Stage.CONTRACT, Stage.CONTROLS, *(Stage(stage.value.lower()) for stage in stages)}
    good = [canary for canary in canaries if canary.good]
    bad = [canary for canary in canaries if canary.expected in on]
    drawn = [*rng.sample(good, min(number, len(good))), *rng.sample(bad, min(number, len(bad)))]
    rng.shuffle(drawn)
    return tuple(drawn)


def disguised(canaries: Iterable[Canary], rng: random.Random) -> tuple[tuple[Canary, str], ...]:
    """Each with a text of its own that was never judged before."""
    return tuple((canary, disguise(canary.source, rng.randrange(2**31))) for canary in canaries)


async def sight(canary: Canary, source: str, judge: JudgeSource) -> Sighting:
    """Let the gate judge one. Raises CanaryUnjudged if sandboxes failed under it."""
    verdict = await judge(source)
    if verdict.reason is Reason.INFRASTRUCTURE:
        raise CanaryUnjudged(f"the gate could not be tried: {verdict.message}")
    return Sighting(canary, source, verdict)


async def sight_all(texts: Iterable[tuple[Canary, str]], judge: JudgeSource) -> tuple[Sighting, ...]:
    """All at once, in the order given. Raises CanaryUnjudged."""
    return tuple(await asyncio.gather(*(sight(canary, source, judge) for canary, source in texts)))


def figures(sightings: Iterable[Sighting]) -> dict[str, int]:
    """How many were judged, and the gate's errors, as spade_contracts.canaries says."""
    counts: Counter[str] = Counter()
    for one in sightings:
        counts[GOOD if one.canary.good else BAD] += 1
        if one.false_accept:
            counts[f"{FALSE_ACCEPTS}/{one.canary.expected}"] += 1
        if one.false_reject:
            counts[f"{FALSE_REJECTS}/{one.verdict.stage}"] += 1
    return dict(sorted(counts.items()))
