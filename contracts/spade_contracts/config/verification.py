"""Settings of the gate: which stages beyond the fixed ones, within what cost, by which thresholds (design §10)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from spade_contracts.base import Document

Uri = Annotated[str, StringConstraints(min_length=1, max_length=1024)]


class OptionalStage(StrEnum):
    """Stages that can be left out. `parse`, `contract` and `controls` always run."""

    SOLUTION = "Solution"
    """The program's own solution must win, twice."""
    ORDER = "Order"
    """Cut, shuffled and misdirected solutions, and those of other seeds, must not."""
    LEAKS = "Leaks"
    """Observations must not give solution, hidden state, formula or document away."""
    MUTANTS = "Mutants"
    """The controls must notice changes of the success predicate."""
    NOVELTY = "Novelty"
    """The program must differ from those of the batch, the memory and the run's history."""
    CONTAMINATION = "Contamination"
    """The program must not overlap with evaluation sets."""
    DIFFICULTY = "Difficulty"
    """Probes must find the program neither trivial nor hopeless."""
    JUDGE = "Judge"
    """A model must say yes."""


FULL_BATTERY = (
    OptionalStage.SOLUTION,
    OptionalStage.ORDER,
    OptionalStage.LEAKS,
    OptionalStage.MUTANTS,
    OptionalStage.NOVELTY,
    OptionalStage.CONTAMINATION,
)
"""All stages that need neither a model nor plays."""


class SolutionRule(StrEnum):
    """What a program without a replayable solution is."""

    WHEN_REPLAYABLE = "WhenReplayable"
    """Judged without one; the verdict says so."""
    REQUIRED = "Required"
    """Rejected."""


class MutantSettings(Document):
    """Mutants of the success predicate, and how many the controls must notice."""

    limit: int = Field(default=24, ge=1, le=200)
    """Mutants tried of a program."""
    steps: int = Field(default=5000, ge=100, le=1_000_000)
    """Steps and tool calls that all mutants together may take, beside those of the program itself."""
    seconds: float = Field(default=1.0, gt=0, le=60)
    """Wall clock of one mutant's replay; one that takes longer is noticed by that."""
    min_score: float = Field(default=0.5, ge=0, le=1)
    """A lower mutation score is a rejection; 0 only reports."""
    min_mutants: int = Field(default=4, ge=1, le=200)
    """With fewer mutants that are not equivalent the score is only reported."""


class KnownPrograms(StrEnum):
    """Which likeness to a known program rejects."""

    NEAR = "Near"
    """Being a near duplicate."""
    EXACT = "Exact"
    """Being the same up to names and layout; near duplicates are only reported."""


class NoveltySettings(Document):
    """How different a program must be from those known."""

    near: float = Field(default=0.9, gt=0, le=1)
    """Jaccard similarity of token shingles from which a program is a near duplicate."""
    reject: KnownPrograms = KnownPrograms.NEAR
    """Which likeness rejects."""


class ContaminationSettings(Document):
    """Evaluation sets that programs must keep clear of."""

    lists: tuple[Uri, ...] = Field(default=(), max_length=16)
    """URIs of lists of evaluation texts. With none there is nothing to compare, and the verdict says so."""
    words: int = Field(default=13, ge=4, le=64)
    """Length of the n-grams compared, in words."""
    max_overlaps: int = Field(default=0, ge=0, le=10_000)
    """n-grams shared with one list that are tolerated."""


class DifficultySettings(Document):
    """The estimate of difficulty before plays are spent."""

    probes: int = Field(default=4, ge=1, le=64)
    """Episodes of the probe policy."""
    min_return: float = Field(default=0.0, ge=0, le=1)
    """A lower mean return of the probes is a rejection; 0 only reports."""
    max_return: float = Field(default=1.0, ge=0, le=1)
    """A higher mean return of the probes is a rejection; 1 only reports."""


class JudgeSource(StrEnum):
    """Which model judges."""

    ENDPOINT = "Endpoint"
    """That at `url`."""
    POLICY = "Policy"
    """The run's own policy, by its engines and without thinking (method.md §4.3). Only in a run."""


class JudgeSettings(Document):
    """The model judge. An error, silence, or an answer that cannot be read is a rejection, whoever judges."""

    source: JudgeSource = JudgeSource.ENDPOINT
    """Which model judges."""
    url: str = Field(default="", max_length=1024)
    """Base URL of an OpenAI-compatible endpoint; without one the judge is unavailable, which rejects."""
    model: str = Field(default="", max_length=256)
    """Name of the model at the endpoint."""
    max_tokens: int = Field(default=1024, ge=1, le=65536)
    """Longest answer."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """Of the judge's sampling; 0 takes the likeliest token."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus mass of the judge's sampling."""
    timeout_seconds: float = Field(default=120.0, gt=0, le=3600)
    """Deadline of one answer."""


class VerificationSettings(Document):
    """What the gate asks of a program, and what it may cost."""

    max_source_bytes: int = Field(default=100_000, ge=256, le=1048576)
    """Longer programs are rejected unread."""
    brace_repairs: int = Field(default=20, ge=0, le=100)
    """Rounds in which braces of a program that does not parse are doubled where they hold no expression (method.md
    §2.7). The repaired program is judged and played, while the designer's own tokens are trained; 0 repairs nothing."""
    stages: tuple[OptionalStage, ...] = Field(default=FULL_BATTERY, max_length=8)
    """Stages beyond parse, contract and controls; they run in the gate's own order."""
    max_steps: int = Field(default=200, ge=50, le=10_000)
    """Steps and tool calls that the battery may spend on a program, its mutants apart; long solutions and confirmations
    are granted more. Random and constant play is cut short first; any other control that does not fit rejects."""
    max_cpu_seconds: float = Field(default=3.0, gt=0, le=600)
    """CPU seconds that the program may use in the battery. One that spends them before the battery is done is
    rejected."""
    solution: SolutionRule = SolutionRule.WHEN_REPLAYABLE
    """What becomes of a program whose solution cannot be replayed."""
    max_random_wins: float = Field(default=0.9, ge=0, le=1)
    """Largest share of random episodes that may win."""
    mutants: MutantSettings = MutantSettings()
    """Stage Mutants."""
    novelty: NoveltySettings = NoveltySettings()
    """Stage Novelty."""
    contamination: ContaminationSettings = ContaminationSettings()
    """Stage Contamination."""
    difficulty: DifficultySettings = DifficultySettings()
    """Stage Difficulty."""
    judge: JudgeSettings = JudgeSettings()
    """Stage Judge."""
    canaries: int = Field(default=4, ge=1, le=40)
    """Known good and known bad programs, so many of each, that the gate is tried on each cycle."""
