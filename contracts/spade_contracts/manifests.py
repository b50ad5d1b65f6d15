"""Files that say a unit of run storage is finished (design §8). Written last, created exclusively, never changed.

Timings are not in manifests: two runs with the same draws have byte-equal ones.
"""

from pydantic import Field

from spade_contracts.base import Contract
from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.config.verification import VerificationSettings
from spade_contracts.statuses import ScoreDistribution
from spade_contracts.verdicts import VerifierFailure

FORMAT = 1


class PolicyOrigin(Contract):
    """The policy of another run that became policy 0."""

    run: str
    """SpadeRun of the same namespace."""
    policy_version: int
    tensors_sha256: str
    """As its policy.json has it."""


class RunManifest(Contract):
    """run.json: the resolved configuration of the run; what may change later is not in it."""

    format: int = FORMAT
    namespace: str
    name: str
    model_uri: str
    """The model at the beginning of it all: of a run that starts from another one's policy, that run's. A model of the
    hub has its commit behind an `@`."""
    origin: PolicyOrigin | None = None
    method: MethodConfig
    versions: dict[str, str]
    """Versions of our packages that shape numbers."""


class EnvironmentEntry(Contract):
    """One accepted environment of a cycle."""

    id: str
    """`c0004-s003`: cycle and slot."""
    slot: int
    attempt: int
    skill: str
    file: str
    """Path below the cycle's folder."""
    sha256: str
    document_id: str
    hint: str | None
    """The hint text, or None when none could be written."""


class EndpointUsage(Contract):
    """What a cycle asked of OpenAI-compatible endpoints, and what that cost."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    """By the prices of the settings, in their currency."""


class BatchManifest(Contract):
    """cycles/NNNN/batch.json, or cycles/NNNN/topup-MMMM/batch.json of a top-up in mid-cycle."""

    format: int = FORMAT
    cycle: int
    rollout: int | None = None
    """The rollout that the cycle is topped up for; None: this is the cycle's own batch."""
    policy_version: int
    requested: int
    attempts: int
    environments: tuple[EnvironmentEntry, ...]
    rejected: dict[str, int]
    """`stage/reason` → count over all attempts."""
    without_solution: int = 0
    """Accepted programs whose own solution cannot be replayed; they were judged without it."""
    canaries: dict[str, int] = {}
    """Known programs that the gate was tried on, and its errors (spade_sandbox.verify.canaries.figures). A batch with
    a false accept has no manifest."""
    designs: tuple[str, ...]
    """Part files with the designer's tokens, below the cycle's folder."""
    verdicts: tuple[str, ...]
    usage: EndpointUsage | None = None
    """None when no endpoint was asked."""
    kept_from: int | None = None
    """No program was accepted, and the environments are those of this earlier cycle (allRejected: KeepLast)."""


class EnvironmentReturns(Contract):
    """What one rollout says of one environment."""

    id: str
    unhinted: tuple[float, ...]
    """Returns of the scored and truncated unhinted plays, by play index."""
    hinted: tuple[float, ...]
    """Returns of the hinted plays; empty after the cycle's first rollout."""
    pairs: tuple[tuple[float, float], ...] = ()
    """Returns without and with the hint of the plays that both arms played from one seed, by play index."""
    environment_faults: int
    """Plays of both arms that the program itself failed."""
    step_timeouts: int = 0
    """Those of them in which it exceeded its time."""
    suspect: tuple[VerifierFailure, ...] = ()
    """What the live detectors found against its verifier."""
    retired: bool
    """Whether it is not played again in its cycle."""


class RolloutManifest(Contract):
    """rollouts/NNNN/rollout.json."""

    format: int = FORMAT
    rollout: int
    cycle: int
    policy_version: int
    planned: int
    outcomes: dict[str, int]
    environments: tuple[EnvironmentReturns, ...]
    verifier_failures: dict[str, int]
    """By reason: episodes that show it, or environments where several plays or several environments do."""
    prefix_checks: dict[str, int] = {}
    """Episodes by how the chat template spells them (PrefixCheck); empty in manifests from before it was counted."""
    episodes: tuple[str, ...]
    """Names of the part files, in reading order."""


class StepManifest(Contract):
    """steps/NNNN/step.json: the optimiser step on rollout NNNN; it makes policy version NNNN+1."""

    format: int = FORMAT
    rollout: int
    policy_version: int
    """The version made."""
    player_samples: int
    designer_samples: int
    designer_cycles: tuple[int, ...] = ()
    """Cycles whose designer samples this step trained; none is trained twice, even when the run grows later."""
    samples_sha256: str
    """SHA-256 over the assembled batch: same storage and settings, same digest."""
    loss: float
    gradient_norm: float
    kl: float
    importance_mean: float
    importance_clipped_fraction: float
    tokens: int
    parameter_sha256: str
    """SHA-256 over the fp32 masters by sorted Hugging Face names."""
    world_size: int


class PolicyManifest(Contract):
    """policies/NNNN/policy.json beside safetensors in Hugging Face's layout."""

    format: int = FORMAT
    policy_version: int
    files: dict[str, str]
    """File name → SHA-256."""
    tensors: int
    tensors_sha256: str
    """SHA-256 over (name, dtype, shape, bytes) of each tensor by sorted name."""
    parameters: int = Field(ge=0)


class CheckpointManifest(Contract):
    """checkpoints/NNNN/checkpoint.json beside Megatron's torch_dist files."""

    format: int = FORMAT
    policy_version: int
    parameter_sha256: str
    world_size: int


class ProgramEntry(Contract):
    """One accepted program of a verification."""

    name: str
    """Path below the folder, or file and row."""
    sha256: str


class VerificationManifest(Contract):
    """verifications/DIGEST/verification.json: what the gate said of programs that somebody else wrote.

    DIGEST is over all that decides verdicts: settings, limits, and every program's name and content.
    """

    format: int = FORMAT
    programs_uri: str
    domain: Domain
    settings: VerificationSettings
    limits: SandboxLimits
    programs: int
    accepted: tuple[ProgramEntry, ...]
    """In the order of their names."""
    rejected: dict[str, int]
    """`stage/reason` → count."""
    without_solution: int = 0
    """Accepted programs whose own solution cannot be replayed; they were judged without it."""
    mutation_scores: ScoreDistribution | None
    diversity: float | None
    canaries: dict[str, int] = {}
    """Known programs that the gate was tried on, and its errors (spade_sandbox.verify.canaries.figures)."""
    verdicts: str
    """Name of the Parquet file beside it: one row a program."""
