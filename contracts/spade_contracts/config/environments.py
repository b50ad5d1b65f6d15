"""What a cycle's environments are and how the designer is asked for them (method.md §1.3, §1.4, §2, §3, §6, §7)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from spade_contracts.base import Document
from spade_contracts.config.families import FamiliesConfig
from spade_contracts.config.sampling import SamplingConfig
from spade_contracts.config.verification import VerificationSettings

SkillName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class Domain(StrEnum):
    """What kind of environment programs."""

    GAMES = "Games"
    """Text games: `reset`, `step` (method.md §2.3)."""
    TOOLS = "Tools"
    """Tool-use tasks: tools, instructions, a final answer (method.md §2.6)."""


class PromptTemplate(StrEnum):
    """How much a designer or player prompt says."""

    FULL = "Full"
    COMPACT = "Compact"


class Difficulty(StrEnum):
    """The difficulty word of the designer prompt (method.md §1.4)."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class DesignerSource(StrEnum):
    """Who writes the programs of a cycle."""

    POLICY = "Policy"
    """The policy itself; its answers are trained."""
    FAMILIES = "Families"
    """Nobody: procedural families of ours, by `families` (method.md §10). Their programs are shipped with us, so the
    gate is not asked in the run; no designer sample is trained and no hint is written."""


class DesignerConfig(Document):
    """How the designer is sampled and how often a slot is tried."""

    source: DesignerSource
    """Who writes the programs."""
    sampling: SamplingConfig
    """Sampling of the designer's answers."""
    prompt_template: PromptTemplate
    """Full makes every demand in words; Compact is for models that cannot read that much."""
    attempts: int = Field(ge=1, le=20)
    """Tries per slot, each with a new document; a slot without an accepted program stays empty."""
    generation_timeout_seconds: float = Field(gt=0, le=7200)
    """Deadline of one generation."""


class HintConfig(Document):
    """How hints are written (method.md §3)."""

    sampling: SamplingConfig
    """Sampling of the hint."""
    attempts: int = Field(ge=1, le=10)
    """Tries for one hint; without a hint the environment earns no regret."""


class MemoryConfig(Document):
    """Examples from earlier environments in the designer's prompt (method.md §6)."""

    size: int = Field(ge=0, le=10000)
    """Entries kept, oldest dropped first. 0 switches the memory off."""
    positives: int = Field(ge=0, le=10)
    """Positive examples in a prompt."""
    negatives: int = Field(ge=0, le=10)
    """Negative examples in a prompt."""
    snippet_characters: int = Field(ge=1, le=20000)
    """Characters of a program kept as its snippet."""


class CorpusConfig(Document):
    """Documents that ground the designer (method.md §7)."""

    uri: str = Field(min_length=1, max_length=1024)
    """JSONL with `text` (or `orig_doc`): `package:mini`, which we ship, or `file:///path`, inside the pods, where run
    storage is at /storage and volumes of `workers.pod` are below /mnt."""
    max_words: int = Field(ge=1, le=100000)
    """Longer documents are cut here, with a note."""


class EnvironmentsConfig(Document):
    """The environments of a cycle."""

    domain: Domain
    """Kind of programs; decides the defaults of skills, cycle length, hints, corpus and the KL term too."""
    per_cycle: int = Field(ge=1, le=1024)
    """Slots per cycle; slot i targets active skill i mod activeSkills."""
    cycle_length: int = Field(ge=1, le=1000)
    """Rollouts between two generations; designer samples are trained one cycle later."""
    skills: tuple[SkillName, ...] = Field(min_length=1, max_length=64)
    """Names of the skills, in rotation order."""
    active_skills: int = Field(ge=1, le=64)
    """Skills active in one cycle; the window moves on by as many each cycle."""
    difficulty: Difficulty
    """Difficulty word in the prompt."""
    families: FamiliesConfig
    """Procedural families of designer source Families."""
    designer: DesignerConfig
    """The designer role."""
    hints: HintConfig
    """Hints for hinted plays."""
    memory: MemoryConfig
    """Environment memory."""
    corpus: CorpusConfig
    """Grounding documents."""
    verification: VerificationSettings
    """The gate."""
