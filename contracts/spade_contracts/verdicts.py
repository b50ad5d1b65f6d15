"""What verification says of a program (design §10). Stages and reasons are bounded, so they can label metrics."""

from enum import StrEnum

from pydantic import Field

from spade_contracts.base import Contract

MAX_EVIDENCE_LINES = 200
MAX_EVIDENCE_CHARACTERS = 2_000


class Stage(StrEnum):
    """Stages of the gate, in its order; `accepted` is the stage of a program that passed them all."""

    PARSE = "parse"
    CONTRACT = "contract"
    CONTROLS = "controls"
    ACCEPTED = "accepted"


class Reason(StrEnum):
    """Why a program was rejected."""

    TRUNCATED = "truncated"
    """The answer's code block has no closing fence (method.md §2.7)."""
    EMPTY = "empty"
    """The answer holds no code."""
    TOO_LONG = "too_long"
    """The program is longer than the limit."""
    SYNTAX = "syntax"
    """No repair made it compile."""
    NO_ENVIRONMENT_CLASS = "no_environment_class"
    """No class whose name ends in Env has `reset` and `step`."""
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
    WINS_AT_RESET = "wins_at_reset"
    """The first action wins whatever it says: the goal holds at reset."""
    WINS_BY_NULL = "wins_by_null"
    """The empty action wins."""
    WINS_BY_CONSTANT = "wins_by_constant"
    """Repeating one fixed action wins."""
    WINS_BY_MALFORMED = "wins_by_malformed"
    """Actions that are no commands win."""
    INFRASTRUCTURE = "infrastructure"
    """Sandboxes failed; the program was not judged and may be tried again."""
    NO_VERDICT = "no_verdict"
    """A stage ended without a verdict, which counts as a rejection."""


class VerifierFailure(StrEnum):
    """How a verifier was shown wrong in play: labels of spade_verifier_failures_total."""

    SUCCESS_WITH_ERROR = "success_with_error"
    """An episode with full reward that also holds an error."""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"
    INVALID_RETURN = "invalid_return"


class Verdict(Contract):
    """The gate's word on one program."""

    stage: Stage
    """The stage that rejected, or `accepted`."""
    reason: Reason | None
    """None exactly if accepted."""
    message: str = Field(default="", max_length=2_000)
    """One sentence for people."""
    evidence: tuple[str, ...] = Field(default=(), max_length=MAX_EVIDENCE_LINES)
    """Transcript of the session that led to the rejection, one line an operation."""

    @property
    def accepted(self) -> bool:
        """Whether the program may be played."""
        return self.stage is Stage.ACCEPTED and self.reason is None


def accepted() -> Verdict:
    """The verdict of a program that passed every stage."""
    return Verdict(stage=Stage.ACCEPTED, reason=None)


def rejected(stage: Stage, reason: Reason, message: str = "", evidence: tuple[str, ...] = ()) -> Verdict:
    """A rejection; message and evidence are cut to what a verdict holds."""
    lines = tuple(line[:MAX_EVIDENCE_CHARACTERS] for line in evidence[-MAX_EVIDENCE_LINES:])
    return Verdict(stage=stage, reason=reason, message=message[:2_000], evidence=lines)
