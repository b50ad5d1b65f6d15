"""Live detectors: plays that show a verifier wrong (design §10).

The program's own word is all there is to read, so the detectors look for plays that contradict themselves, or each
other. `verifier_failure` sees one episode, `contradictions` all plays of one environment in a rollout, `concentration`
all environments of a rollout. Player mistakes are no errors: a game may call a command invalid and still be won later.
"""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spade_contracts.errors import EnvironmentFault
from spade_contracts.verdicts import VerifierFailure
from spade_sandbox.client import StepResult
from spade_sandbox.verify.trial import wins

MIN_SEEDS = 4
"""Seeds from which one transcript must have won: with fewer, games of few instances would be called constant."""
MIN_UNCHANGED_ACTIONS = 3
"""Actions of an episode before its answers can be called all the same."""
MIN_UNCHANGED_WINS = 3
MIN_ENVIRONMENTS = 5
"""Environments of a rollout before a few of them can be called few."""
CONCENTRATED_REWARD = 0.8
"""Share of a rollout's reward that the few hold together."""
FEW = 0.1
"""Share of the environments that counts as few, rounded up."""
NEARLY_ALWAYS = 0.8
"""Mean return from which an environment counts as nearly always won."""
_INFO_KEYS = ("error", "exception", "traceback")
_TRACE = "Traceback (most recent call last)"
_COMPLAINT = re.compile(r"^\W*(error|exception|invalid)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Play:
    """One ended episode, as far as the detectors look at it."""

    seed: int | None
    """None: the environment drew its own; then it counts as a seed of its own."""
    actions: tuple[str, ...]
    answers: tuple[str, ...]
    """The observation after each action."""
    won: bool


def verifier_failure(steps: Sequence[StepResult], fault: EnvironmentFault | None = None) -> VerifierFailure | None:
    """What one episode shows about its program's verifier.

    `steps`: all answered steps, in order. `fault`: what ended the episode, if the program did. A fault of the program
    is a failure by itself; so is an episode won with an error: a Python trace or an error flag anywhere in it, or a
    winning step that itself complains. None otherwise.
    """
    if fault is not None:
        return VerifierFailure(fault.kind)
    if not steps or not wins(steps[-1]):
        return None
    if any(_holds_error(step) for step in steps) or _COMPLAINT.match(steps[-1].observation):
        return VerifierFailure.SUCCESS_WITH_ERROR
    return None


def contradictions(plays: Sequence[Play]) -> tuple[VerifierFailure, ...]:
    """What the plays of one environment show together."""
    found = []
    if _wins_without_change(plays):
        found.append(VerifierFailure.SUCCESS_WITHOUT_CHANGE)
    if _one_transcript_wins(plays):
        found.append(VerifierFailure.ONE_TRANSCRIPT_WINS)
    return tuple(found)


def concentration(returns: Mapping[str, Sequence[float]]) -> frozenset[str]:
    """The few environments that hold nearly all reward of a rollout, if each of them is nearly always won.

    `returns`: unhinted returns by environment. Rewards below zero count as none.
    """
    reward = {name: sum(max(0.0, value) for value in values) for name, values in returns.items() if values}
    total = sum(reward.values())
    if len(reward) < MIN_ENVIRONMENTS or total <= 0:
        return frozenset()
    few: list[str] = []
    held = 0.0
    for name in sorted(reward, key=lambda one: (-reward[one], one)):
        if held >= CONCENTRATED_REWARD * total:
            break
        few.append(name)
        held += reward[name]
    if len(few) > math.ceil(FEW * len(reward)):
        return frozenset()
    return frozenset(few) if all(reward[name] >= NEARLY_ALWAYS * len(returns[name]) for name in few) else frozenset()


def _wins_without_change(plays: Sequence[Play]) -> bool:
    """Whether at least half of the wins, and some, came after answers that were all alike."""
    won = [play for play in plays if play.won]
    blind = [p for p in won if len(p.actions) >= MIN_UNCHANGED_ACTIONS and len(set(p.answers[:-1])) == 1]
    return len(blind) >= MIN_UNCHANGED_WINS and 2 * len(blind) >= len(won)


def _one_transcript_wins(plays: Sequence[Play]) -> bool:
    """Whether some actions won from every seed that they were played from, and from enough of them."""
    seeds: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
    lost: set[tuple[str, ...]] = set()
    for number, play in enumerate(plays):
        transcript = play.actions[:1] if len(set(play.actions)) == 1 else play.actions
        if play.won:
            seeds[transcript].add(-1 - number if play.seed is None else play.seed)
        else:
            lost.add(transcript)
    return any(len(found) >= MIN_SEEDS for transcript, found in seeds.items() if transcript not in lost)


def _holds_error(step: StepResult) -> bool:
    return _TRACE in step.observation or any(step.info.get(key) for key in _INFO_KEYS)
