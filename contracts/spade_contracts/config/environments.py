"""What a cycle's environments are and how the designer is asked for them (method.md §1.3, §1.4, §2, §3, §6, §7)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from spade_contracts.base import Document
from spade_contracts.config.families import FamiliesConfig
from spade_contracts.config.sampling import SamplingConfig, Thinking
from spade_contracts.config.verification import ContaminationSettings, VerificationSettings

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
    ENDPOINT = "Endpoint"
    """A model at an OpenAI-compatible endpoint; nothing of it is trained, because its tokens are not the policy's."""
    POOL = "Pool"
    """Nobody: existing programs are drawn from a pool (method.md §10); no designer sample is trained."""
    FAMILIES = "Families"
    """Nobody: procedural families of ours, by `families` (method.md §10). Their programs are shipped with us, so the
    gate is not asked in the run; no designer sample is trained and no hint is written."""


ASKED = (DesignerSource.POLICY, DesignerSource.ENDPOINT)
"""Sources that are asked for programs: they need skills, prompts and a corpus."""


class DesignerContract(StrEnum):
    """What a designer is asked for, whether or not it is shown a document."""

    BY_CORPUS = "ByCorpus"
    """With a corpus interactive games with partial reward, or tools with several instructions; without one what switch
    designerWithoutCorpus says."""
    OTHER_CONTRACT = "OtherContract"
    """What the reference asks for without a corpus: games with sparse reward and a worked example, tools with a single
    task. With a corpus its document is shown before them."""


class AllRejected(StrEnum):
    """What becomes of a cycle of which no program was accepted."""

    FAIL = "Fail"
    """The run fails with AllRejected and gives its pods back; a retry adopts the same verdicts."""
    PAUSE = "Pause"
    """The same, but a retry designs the cycle anew, with other documents and draws."""
    KEEP_LAST = "KeepLast"
    """The environments of the latest cycle that has some are played again; without such a cycle the run fails."""


class EndpointConfig(Document):
    """An OpenAI-compatible endpoint (`POST URL/chat/completions`). Its key comes from a Secret, never from here."""

    url: str = Field(default="", max_length=1024)
    """Base URL, such as `https://host/v1`. The chart's egress.cidrs must let workers reach it."""
    model: str = Field(default="", max_length=256)
    """Name of the model at the endpoint."""
    timeout_seconds: float = Field(default=300.0, gt=0, le=7200)
    """Deadline of one request."""
    attempts: int = Field(default=6, ge=1, le=50)
    """Tries of one request that fails by rate limit, server error, broken or unreadable answer, or deadline."""
    requests_per_minute: int = Field(default=60, ge=1, le=100_000)
    """Requests that each worker pod begins in a minute at most, retries included."""
    prompt_price: float = Field(default=0.0, ge=0, le=1_000_000)
    """Price of a million prompt tokens, in any currency; recorded costs are in the same."""
    completion_price: float = Field(default=0.0, ge=0, le=1_000_000)
    """Price of a million completion tokens."""


class PoolConfig(Document):
    """Existing programs in place of a designer (method.md §10)."""

    uri: str = Field(default="", max_length=1024)
    """A folder (its `*.py`, at any depth), or a JSONL or Parquet file with a column `program`: `file:///PATH` as the
    pods see it, or `s3://BUCKET/KEY`."""
    sha256: str = Field(default="", max_length=64, pattern=r"^([0-9a-f]{64})?$")
    """Digest that the pool must have: of a file its own, of a folder that of its listing as `sha256sum` prints it,
    sorted by path (docs/designer.md). Required, so that a run says what it was trained on."""


class DesignerConfig(Document):
    """Who designs, how it is sampled and how often a slot is tried."""

    source: DesignerSource
    """Who writes the programs."""
    endpoint: EndpointConfig = EndpointConfig()
    """Where the model of source Endpoint is asked, with the key in SPADE_DESIGNER_API_KEY."""
    pool: PoolConfig = PoolConfig()
    """What source Pool draws from."""
    sampling: SamplingConfig
    """Sampling of the designer's answers; an endpoint gets temperature, topP and maxNewTokens."""
    contract: DesignerContract = DesignerContract.BY_CORPUS
    """What is asked for, apart from the document. OtherContract is what the reference asks for without a corpus
    (method.md §2.4, §10)."""
    prompt_template: PromptTemplate
    """Full makes every demand in words; Compact is for models that cannot read that much."""
    attempts: int = Field(ge=1, le=20)
    """Tries per slot, each with a new document; a slot without an accepted program stays empty. A program of a pool is
    tried once."""
    generation_timeout_seconds: float = Field(gt=0, le=7200)
    """Deadline of one generation."""
    thinking: Thinking
    """Whether the designer thinks before it writes a program (switch designerThinking, D5); for hints it does not."""
    all_rejected: AllRejected
    """What becomes of a cycle of which no program was accepted. Nothing is ever trained in place of its plays."""


class HintMode(StrEnum):
    """Who writes hints (method.md §3)."""

    SELF = "Self"
    """The current policy."""
    ENDPOINT = "Endpoint"
    """A model at an OpenAI-compatible endpoint."""


class HintConfig(Document):
    """How hints are written (method.md §3)."""

    mode: HintMode
    """Who writes them."""
    endpoint: EndpointConfig = EndpointConfig()
    """Where the model of mode Endpoint is asked, with the key in SPADE_HINTS_API_KEY."""
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
    negatives: int = Field(ge=0, le=1)
    """Negative examples in a prompt."""
    snippet_characters: int = Field(ge=1, le=20000)
    """Characters of a program kept as its snippet."""


class CorpusDuplicates(StrEnum):
    """Which documents that repeat an earlier one are left out of the corpus."""

    NEAR = "Near"
    """Those of the same words, and those whose words are nearly the same."""
    EXACT = "Exact"
    """Those of the same words, whatever their spacing and case."""
    KEPT = "Kept"
    """None, as in the reference (method.md §7)."""


class CorpusConfig(Document):
    """Documents that ground the designer (method.md §7)."""

    uri: str = Field(max_length=1024)
    """JSONL or Parquet with `text` (or `orig_doc`): `package:mini`, which we ship, or `file:///path`, inside the pods,
    where run storage is at /storage and volumes of `workers.pod` are below /mnt, or `s3://BUCKET/KEY`. Empty: the
    designer gets no document (method.md §10; switch designerWithoutCorpus)."""
    max_words: int = Field(ge=1, le=100000)
    """Longer documents are cut here, with a note."""
    max_tokens: int = Field(default=0, ge=0, le=1048576)
    """Documents are cut to this many tokens of the policy, too; 0 sets no limit."""
    duplicates: CorpusDuplicates
    """Which documents that repeat an earlier one are left out."""
    near: float = Field(default=0.8, ge=0.5, le=1)
    """Jaccard similarity of five-word shingles from which two documents are nearly the same."""
    contamination: ContaminationSettings = ContaminationSettings()
    """Evaluation sets: a document that shares more n-grams with one than tolerated is left out."""


class EnvironmentsConfig(Document):
    """The environments of a cycle."""

    domain: Domain
    """Kind of programs; decides the defaults of skills, cycle length, hints, corpus and the KL term too."""
    per_cycle: int = Field(ge=1, le=1024)
    """Slots per cycle; slot i targets active skill i mod activeSkills."""
    cycle_length: int = Field(ge=1, le=1000)
    """Rollouts between two generations; designer samples are trained one cycle later."""
    skills: tuple[SkillName, ...] = Field(min_length=1, max_length=64)
    """Names of the skills, in rotation order (docs/designer.md lists them)."""
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
