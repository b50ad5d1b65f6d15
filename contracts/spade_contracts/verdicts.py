"""What verification says of a program (design §10). Stages and reasons are bounded, so they can label metrics.

A verdict is data that anybody can check: its evidence is the sessions that led to it, with each seed and action as
sent, and each answer as `shown` gives it. The same program in the same limits must answer the same again.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from spade_contracts.base import Contract
from spade_contracts.config.environments import Domain
from spade_contracts.protocol import MAX_TEXT_CHARACTERS

MAX_TRACES = 8
MAX_EXCHANGES = 1_000
"""Exchanges of one trace."""
MAX_ANSWER_CHARACTERS = 2_000
MAX_EVIDENCE_CHARACTERS = 2_000_000
"""Actions, arguments and answers of a verdict together; what does not fit is left out at the end, never in between."""
MAX_FACTS = 64
MAX_FACT_CHARACTERS = 1_000
TIMINGS = ("cpu_seconds", "seconds")
"""Facts that differ between two runs with the same draws, so they are in no manifest and in nothing that one names."""

SOLUTION_FORM = "solution_form"
"""Fact: how the program's own solution was read, or that it cannot be replayed."""
NOT_REPLAYED = frozenset({"none", "unreadable"})
"""Forms of a program that was judged without a solution of its own."""


class Stage(StrEnum):
    """Stages of the gate, in its order; `accepted` is the stage of a program that passed them all."""

    PARSE = "parse"
    CONTRACT = "contract"
    CONTROLS = "controls"
    SOLUTION = "solution"
    ORDER = "order"
    LEAKS = "leaks"
    MUTANTS = "mutants"
    NOVELTY = "novelty"
    CONTAMINATION = "contamination"
    DIFFICULTY = "difficulty"
    JUDGE = "judge"
    ACCEPTED = "accepted"


class Reason(StrEnum):
    """Why a program was rejected."""

    UNREADABLE = "unreadable"
    """The file cannot be read: it is missing, no regular file, or closed to us."""
    ENCODING = "encoding"
    """The text is not UTF-8."""
    TRUNCATED = "truncated"
    """The answer's code block has no closing fence (method.md §2.7)."""
    EMPTY = "empty"
    """The answer holds no code."""
    TOO_LONG = "too_long"
    """The program is longer than the limit."""
    SYNTAX = "syntax"
    """No repair made it compile."""
    NO_ENVIRONMENT_CLASS = "no_environment_class"
    """No class whose name ends in Env has what its domain asks for."""
    FORBIDDEN_IMPORT = "forbidden_import"
    """It imports what programs may not import."""
    FORBIDDEN_NAME = "forbidden_name"
    """It uses a name that leads out of the program."""
    TIMEOUT = "timeout"
    """It used too much time."""
    MEMORY = "memory"
    """It used too much memory."""
    CRASH = "crash"
    """It raised or died."""
    INVALID_RETURN = "invalid_return"
    """It returned a wrong type, size or value."""
    REWARD_OUT_OF_RANGE = "reward_out_of_range"
    """A reward lies outside [-10, 10] (method.md §4.1)."""
    NONDETERMINISTIC = "nondeterministic"
    """Two sessions with the same seed and actions differ."""
    HASH_SEED_DEPENDENT = "hash_seed_dependent"
    """Two sessions that differ only in the interpreter's hash seed differ in what they answer."""
    NO_TOOLS = "no_tools"
    """A tool environment offers no tool."""
    CRITERION_RAISES = "criterion_raises"
    """A criterion of a tool environment raises at reset."""
    BUDGET_SPENT = "budget_spent"
    """The verification's CPU time or steps were used up before the controls that the program must pass were done."""
    IGNORES_ACTIONS = "ignores_actions"
    """No action makes a difference to what it answers, and none has won."""
    CRITERION_AT_RESET = "criterion_at_reset"
    """A criterion of a tool environment holds before anything was done."""
    WINS_AT_RESET = "wins_at_reset"
    """The first action wins whatever it says: the goal holds at reset."""
    WINS_BY_NULL = "wins_by_null"
    """The empty, blank or endless action wins."""
    WINS_BY_RANDOM = "wins_by_random"
    """Random actions of the right form win too often."""
    WINS_BY_CONSTANT = "wins_by_constant"
    """Fixed play wins: an action repeated, a plausible value in a shown command, or two commands by turns."""
    WINS_BY_REPLAY = "wins_by_replay"
    """Repeating the first action of the solution wins."""
    WINS_BY_MALFORMED = "wins_by_malformed"
    """Actions that are no commands win."""
    WINS_BY_SPOOF = "wins_by_spoof"
    """Actions that imitate success win."""
    ADVANCED_BY_UNRELATED_TOOL = "advanced_by_unrelated_tool"
    """A tool that has nothing to do with an instruction completes it."""
    NO_SOLUTION = "no_solution"
    """Its solution cannot be replayed, and the settings ask for one."""
    SOLUTION_FAILS = "solution_fails"
    """Its own solution does not win."""
    SOLUTION_UNSTABLE = "solution_unstable"
    """Its own solution wins once and not, or not in the same way, twice."""
    WINS_TRUNCATED = "wins_truncated"
    """The solution wins without steps that the program itself counts as progress."""
    WINS_SHUFFLED = "wins_shuffled"
    """The solution wins in another order, although the program says that order matters."""
    WINS_WRONG_TARGET = "wins_wrong_target"
    """The solution wins with a meaningless or another seed's value in the place of one that it needs."""
    WINS_CROSS_SEED = "wins_cross_seed"
    """One seed's solution wins from every seed."""
    SOLUTION_SHOWN = "solution_shown"
    """An observation gives the solution away."""
    STATE_SHOWN = "state_shown"
    """An observation gives the hidden state away."""
    FORMULA_SHOWN = "formula_shown"
    """The opening observation holds the formula that the task is about."""
    DOCUMENT_NAMED = "document_named"
    """An observation speaks of the corpus document (method.md §2.2)."""
    LOW_MUTATION_SCORE = "low_mutation_score"
    """The controls tell too few mutants of the success predicate from the original."""
    DUPLICATE = "duplicate"
    """The same program is known already."""
    NEAR_DUPLICATE = "near_duplicate"
    """Nearly the same program is known already."""
    CONTAMINATED = "contaminated"
    """It overlaps with an evaluation set."""
    TOO_EASY = "too_easy"
    """The probes' mean return is above the setting."""
    TOO_HARD = "too_hard"
    """The probes' mean return is below the setting."""
    JUDGE_REJECTED = "judge_rejected"
    """The model judge did not say yes."""
    JUDGE_UNAVAILABLE = "judge_unavailable"
    """The model judge gave no answer that can be read."""
    INFRASTRUCTURE = "infrastructure"
    """Sandboxes failed; the program was not judged and may be tried again."""
    NO_VERDICT = "no_verdict"
    """A stage ended without a verdict, which counts as a rejection."""


_RUNNING = (
    Reason.TIMEOUT,
    Reason.MEMORY,
    Reason.CRASH,
    Reason.INVALID_RETURN,
    Reason.BUDGET_SPENT,
    Reason.INFRASTRUCTURE,
    Reason.NO_VERDICT,
)
REASONS: Mapping[Stage, tuple[Reason, ...]] = {
    Stage.PARSE: (
        Reason.UNREADABLE,
        Reason.ENCODING,
        Reason.TRUNCATED,
        Reason.EMPTY,
        Reason.TOO_LONG,
        Reason.SYNTAX,
        Reason.NO_ENVIRONMENT_CLASS,
        Reason.FORBIDDEN_IMPORT,
        Reason.FORBIDDEN_NAME,
    ),
    Stage.CONTRACT: (
        Reason.REWARD_OUT_OF_RANGE,
        Reason.NONDETERMINISTIC,
        Reason.HASH_SEED_DEPENDENT,
        Reason.NO_TOOLS,
        Reason.CRITERION_RAISES,
        *_RUNNING,
    ),
    Stage.CONTROLS: (
        Reason.CRITERION_AT_RESET,
        Reason.WINS_AT_RESET,
        Reason.WINS_BY_NULL,
        Reason.WINS_BY_RANDOM,
        Reason.WINS_BY_CONSTANT,
        Reason.WINS_BY_REPLAY,
        Reason.WINS_BY_MALFORMED,
        Reason.WINS_BY_SPOOF,
        Reason.ADVANCED_BY_UNRELATED_TOOL,
        *_RUNNING,
    ),
    Stage.SOLUTION: (
        Reason.NO_SOLUTION,
        Reason.SOLUTION_FAILS,
        Reason.SOLUTION_UNSTABLE,
        Reason.IGNORES_ACTIONS,
        *_RUNNING,
    ),
    Stage.ORDER: (
        Reason.WINS_TRUNCATED,
        Reason.WINS_SHUFFLED,
        Reason.WINS_WRONG_TARGET,
        Reason.WINS_CROSS_SEED,
        Reason.WINS_BY_MALFORMED,
        *_RUNNING,
    ),
    Stage.LEAKS: (
        Reason.SOLUTION_SHOWN,
        Reason.STATE_SHOWN,
        Reason.FORMULA_SHOWN,
        Reason.DOCUMENT_NAMED,
        *_RUNNING,
    ),
    Stage.MUTANTS: (Reason.LOW_MUTATION_SCORE, *_RUNNING),
    Stage.NOVELTY: (Reason.DUPLICATE, Reason.NEAR_DUPLICATE, Reason.NO_VERDICT),
    Stage.CONTAMINATION: (Reason.CONTAMINATED, Reason.NO_VERDICT),
    Stage.DIFFICULTY: (Reason.TOO_EASY, Reason.TOO_HARD, *_RUNNING),
    Stage.JUDGE: (Reason.JUDGE_REJECTED, Reason.JUDGE_UNAVAILABLE, Reason.NO_VERDICT),
}
"""Which reasons a stage can give."""


class VerifierFailure(StrEnum):
    """How a verifier was shown wrong in play: labels of spade_verifier_failures_total."""

    SUCCESS_WITH_ERROR = "success_with_error"
    """An episode with full reward that also holds an error."""
    SUCCESS_WITHOUT_CHANGE = "success_without_change"
    """An environment that is won after it gave the same answer to everything that was done in it."""
    ONE_TRANSCRIPT_WINS = "one_transcript_wins"
    """An environment in which the same actions win from every seed they were played from."""
    REWARD_CONCENTRATION = "reward_concentration"
    """One of the few environments from which nearly all reward of a rollout comes, and which is nearly always won."""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"
    INVALID_RETURN = "invalid_return"


class Operation(StrEnum):
    """What was asked of a session."""

    OPEN = "open"
    """Noted only if the program did not load: the one exchange of its trace."""
    RESET = "reset"
    STEP = "step"
    TOOLS = "tools"
    CALL = "call"
    SOLUTION = "solution"
    INSPECT = "inspect"


class Exchange(Contract):
    """One operation of a session and what came back."""

    op: Operation
    seed: int | None = None
    """Seed of a reset."""
    action: str = Field(default="", max_length=MAX_TEXT_CHARACTERS)
    """Action of a step, as sent."""
    name: str = Field(default="", max_length=128)
    """Tool of a call."""
    arguments: str = Field(default="", max_length=100_000)
    """Arguments of a call: the JSON text as sent."""
    answer: str = Field(max_length=MAX_ANSWER_CHARACTERS)
    """The result as `shown` gives it: compact JSON with sorted keys, or `fault KIND: MESSAGE`."""

    @property
    def characters(self) -> int:
        """Size of what it holds."""
        return len(self.action) + len(self.arguments) + len(self.answer)


class Trace(Contract):
    """One session from its opening on: same program, same limits, same exchanges, same answers."""

    domain: Domain = Domain.GAMES
    max_turns: int = Field(ge=1, le=100_000)
    other_hash_seed: bool = False
    """Whether the cell's interpreter had the pod's second hash seed."""
    note: str = Field(default="", max_length=200)
    """Which check this session belongs to, for people."""
    exchanges: tuple[Exchange, ...] = Field(default=(), max_length=MAX_EXCHANGES)


Fact = float | Annotated[str, StringConstraints(max_length=MAX_FACT_CHARACTERS)]
FactName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class Verdict(Contract):
    """The gate's word on one program."""

    stage: Stage
    """The stage that rejected, or `accepted`."""
    reason: Reason | None
    """None exactly if accepted."""
    message: str = Field(default="", max_length=2_000)
    """One sentence for people."""
    evidence: tuple[Trace, ...] = Field(default=(), max_length=MAX_TRACES)
    """The sessions that led to the rejection."""
    facts: dict[FactName, Fact] = Field(default={}, max_length=MAX_FACTS)
    """What was found and counted: `M0`…`M15` with the word on each control, `steps`, `cpu_seconds`, scores."""

    @property
    def accepted(self) -> bool:
        """Whether the program may be played."""
        return self.stage is Stage.ACCEPTED and self.reason is None


def accepted(facts: Mapping[str, Fact] | None = None) -> Verdict:
    """The verdict of a program that passed every stage."""
    return Verdict(stage=Stage.ACCEPTED, reason=None, facts=bounded(facts or {}))


def rejected(
    stage: Stage,
    reason: Reason,
    message: str = "",
    evidence: Iterable[Trace] = (),
    facts: Mapping[str, Fact] | None = None,
) -> Verdict:
    """A rejection; message, evidence and facts are cut to what a verdict holds."""
    return Verdict(
        stage=stage, reason=reason, message=message[:2_000], evidence=_fitting(evidence), facts=bounded(facts or {})
    )


def with_facts(verdict: Verdict, facts: Mapping[str, Fact]) -> Verdict:
    """The verdict with these facts beside its own."""
    return verdict.model_copy(update={"facts": bounded({**verdict.facts, **facts})})


def lasting(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Facts without timings: equal between two runs with the same draws."""
    return {name: fact for name, fact in facts.items() if name not in TIMINGS}


def without_solution(facts: Mapping[str, object]) -> bool:
    """Whether the program was judged without a solution of its own."""
    return facts.get(SOLUTION_FORM) in NOT_REPLAYED


def shown(text: str) -> str:
    """A text as evidence holds it. A long one is cut and ends in its digest, so that equal still means equal."""
    if len(text) <= MAX_ANSWER_CHARACTERS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    ending = f"…sha256:{digest}"
    return text[: MAX_ANSWER_CHARACTERS - len(ending)] + ending


def bounded(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """The first MAX_FACTS facts, texts cut; a number that is not finite becomes its name."""
    return {name[:64]: _fact(fact) for name, fact in tuple(facts.items())[:MAX_FACTS]}


def _fact(fact: Fact) -> Fact:
    if isinstance(fact, str):
        return fact[:MAX_FACT_CHARACTERS]
    return float(fact) if math.isfinite(fact) else str(fact)


def _fitting(evidence: Iterable[Trace]) -> tuple[Trace, ...]:
    """Traces as far as they fit: whole from their openings, so that what is kept can be replayed."""
    left = MAX_EVIDENCE_CHARACTERS
    kept: list[Trace] = []
    for trace in evidence:
        exchanges: list[Exchange] = []
        for exchange in trace.exchanges[:MAX_EXCHANGES]:
            left -= exchange.characters
            if left < 0:
                break
            exchanges.append(exchange)
        kept.append(trace.model_copy(update={"exchanges": tuple(exchanges)}))
        if left < 0 or len(kept) == MAX_TRACES:
            break
    return tuple(kept)
