"""What processes say of themselves: `GET /status` on open ports, and termination messages (at most 4 KB of JSON).

Every status carries the boot id of its process: a container restarted in place is a new, unproven one.
"""

from enum import StrEnum

from pydantic import Field

from spade_contracts.base import Contract


class Outcome(StrEnum):
    """How an episode ended."""

    SCORED = "scored"
    TRUNCATED = "truncated"
    ENVIRONMENT_FAULT = "environment_fault"
    INFRASTRUCTURE_FAULT = "infrastructure_fault"


class PrefixCheck(StrEnum):
    """How the chat template's rendering of a whole conversation compares with the tokens that were used."""

    EXACT = "exact"
    """Same tokens."""
    REENCODED = "reencoded"
    """Same text; the tokenizer would split the model's own words differently than the model drew them."""
    DIVERGED = "diverged"
    """Another text: the template changes earlier turns (it strips thinking, for instance). The drawn tokens count."""
    PER_TURN = "per_turn"
    """Each turn is a sequence of its own, whose prompt is the template's rendering."""
    NONE = "none"
    """Nothing was drawn."""


class ProbeAttempt(Contract):
    """One connection attempt of the isolation probe."""

    name: str
    kind: str
    host: str
    port: int
    protocol: str
    reached: bool
    detail: str = Field(default="", max_length=300)


class ProbeResult(Contract):
    """What the isolation probe found in a sandbox pod (design §11)."""

    gvisor: bool
    kernel: str = Field(max_length=300)
    attempts: tuple[ProbeAttempt, ...] = Field(max_length=64)
    seconds: float = Field(ge=0)

    @property
    def network_closed(self) -> bool:
        """Whether no target was reached, of at least one."""
        return bool(self.attempts) and not any(a.reached for a in self.attempts)


class SandboxStatus(Contract):
    """A sandbox pod's `GET /status`. Untrusted once programs have run."""

    boot_id: str = Field(min_length=8, max_length=64)
    protocol: int
    walls: dict[str, bool] = Field(max_length=32)
    """Each wall of the cells, and whether its self-test passed."""
    probe: ProbeResult | None
    """None while the probe is running."""
    sessions: int = Field(ge=0)
    capacity: int = Field(ge=0)
    draining: bool
    served: bool
    """Whether a program was ever run at this boot: from then on the pod's word is not proof."""


class BeaconStatus(Contract):
    """The beacon's positive controls: the same kinds of targets, tried from where they must be reachable."""

    boot_id: str
    attempts: tuple[ProbeAttempt, ...]


class EngineState(StrEnum):
    """Where an engine is."""

    STARTING = "starting"
    UNVERIFIED = "unverified"
    UPDATING = "updating"
    SERVING = "serving"
    ASLEEP = "asleep"
    """It computes nothing, so that the learner beside it may use the devices."""
    FAILED = "failed"


class EngineStatus(Contract):
    """An engine's `GET /status`."""

    boot_id: str
    state: EngineState
    loaded_policy_version: int | None
    verified_policy_version: int | None
    """The version that the learner has proven at this boot; None: the engine serves nothing."""
    canary_passed: bool
    requests_in_flight: int
    generated_tokens: int
    error: str = ""


class LearnerState(StrEnum):
    """Where the learner is."""

    STARTING = "starting"
    REPLAYING = "replaying"
    IDLE = "idle"
    TRAINING = "training"
    EXPORTING = "exporting"
    PROVING = "proving"
    FAILED = "failed"


class EngineTarget(Contract):
    """An engine that must serve the target version."""

    name: str
    host: str


class LearnerTarget(Contract):
    """`PUT /target` on the learner's control port: idempotent; a newer target replaces an older one."""

    policy_version: int = Field(ge=0)
    engines: tuple[EngineTarget, ...]
    last_policy_version: int | None = None
    """The version that ends the run as it is now declared (its number of rollouts). The step that makes it also trains
    the designer samples that would otherwise be left over; None: not known, none is trained early."""


class ProofResult(StrEnum):
    """What the proof of one engine's weights said."""

    VERIFIED = "verified"
    INDISTINGUISHABLE = "indistinguishable"
    """The two versions are nearer than the noise: checksums and canary decided; counted apart."""
    MISMATCH = "mismatch"
    UNREACHABLE = "unreachable"


class EngineProof(Contract):
    """The latest proof of one engine."""

    name: str
    boot_id: str
    policy_version: int
    result: ProofResult
    detail: str = Field(default="", max_length=500)
    transfer_seconds: float = 0.0
    proof_seconds: float = 0.0


class StepFigures(Contract):
    """Figures of the optimiser step that made a policy version."""

    rollout: int
    loss: float
    gradient_norm: float
    kl: float
    importance_mean: float
    importance_clipped_fraction: float
    player_samples: int
    designer_samples: int
    tokens: int
    seconds: float


class LearnerStatus(Contract):
    """The learner's `GET /status` (rank 0)."""

    boot_id: str
    state: LearnerState
    policy_version: int | None
    """The version that the learner's weights are."""
    target: int | None
    proofs: tuple[EngineProof, ...] = ()
    last_step: StepFigures | None = None
    replayed_steps: int = 0
    replay_diverged: int | None = None
    """First rollout whose replay gave another checksum than its step manifest."""
    error: str = ""
    failure: str = ""
    """When trying again cannot help: the reason of the run's condition Failed."""


class LeftOut(StrEnum):
    """Why a row of a corpus is no document of a run."""

    UNREADABLE = "unreadable"
    """It is no JSON object."""
    WITHOUT_TEXT = "without_text"
    """Its text is missing, empty or blank."""
    DUPLICATE = "duplicate"
    """An earlier one has the same words."""
    NEAR_DUPLICATE = "near_duplicate"
    """An earlier one has nearly the same words."""
    CONTAMINATED = "contaminated"
    """It shares n-grams with an evaluation set."""


class PrepareResult(Contract):
    """Termination message of the preparation Job."""

    accepted: bool
    reason: str = ""
    """A reason of the condition Accepted, when refused."""
    message: str = Field(default="", max_length=1500)
    model_parameters: int = 0
    model_experts: int = 0
    corpus_documents: int = 0
    corpus_left_out: dict[str, int] = {}
    """Rows of the corpus that are no documents of the run, by reason (LeftOut)."""


class CleanupSummary(Contract):
    """Termination message of the Job that deletes a run's folder."""

    removed: int
    """Names directly in the folder."""
    storage_uri: str


class WorkerStatus(Contract):
    """A design or play worker's `GET /status`."""

    boot_id: str
    stage: str
    planned: int
    """Slots or episodes that this worker is to finish."""
    done: int
    sessions_open: int
    sessions_wanted: int
    """Sessions waiting for a sandbox: with the open ones, the demand that sizes the pool."""
    verifier_failures: dict[str, int] = {}
    error: str = ""


class DesignSummary(Contract):
    """Termination message of a design worker (worker 0 speaks for all)."""

    cycle: int
    requested: int
    attempts: int
    accepted: int
    rejected: dict[str, int] = {}
    """`stage/reason` → count."""
    without_solution: int = 0
    """Accepted programs whose own solution cannot be replayed; they were judged without it."""
    canaries: dict[str, int] = {}
    """Known programs that the gate was tried on, and its errors (spade_sandbox.verify.canaries.figures). A false accept
    means that no manifest was written."""
    let_through: tuple[str, ...] = Field(default=(), max_length=8)
    """Names of known bad programs that were accepted, as far as there is room."""
    kept: int = 0
    """Environments of an earlier cycle that are played again, because no program was accepted."""
    kept_from: int | None = None
    """That cycle."""
    retry_designs_anew: bool = False
    """No program was accepted, and a later attempt of the Job draws others (allRejected: Pause)."""
    seconds: float
    tokens: int
    endpoint_requests: int = Field(default=0, ge=0)
    """Requests to OpenAI-compatible endpoints for these slots, failed tries included."""
    endpoint_cost: float = Field(default=0.0, ge=0)
    """Cost of them by the prices of the settings, in their currency."""
    storage_uri: str
    error: str = Field(default="", max_length=1500)


class PlaySummary(Contract):
    """Termination message of a play worker (worker 0 speaks for all)."""

    rollout: int
    planned: int
    outcomes: dict[Outcome, int] = {}
    hinted: int = 0
    hinted_outcomes: dict[Outcome, int] = {}
    """Outcomes of the hinted episodes, which `outcomes` counts too."""
    learnable_fraction: float | None
    """Share of environments whose mean unhinted return lies in [0.2, 0.8]; None without environments."""
    mean_return: float | None
    hint_regret: float | None = None
    """By the estimator of the switch regretEstimator; None without environments that have hinted plays."""
    hint_regret_standard_error: float | None = None
    """Of that mean, over the environments whose own standard error is known; None where none is."""
    prefix_checks: dict[PrefixCheck, int] = {}
    """Episodes by how the chat template spells them."""
    verifier_failures: dict[str, int] = {}
    tokens: int
    seconds: float
    storage_uri: str
    error: str = Field(default="", max_length=1500)


class ScoreDistribution(Contract):
    """Mutation scores of the programs that have one: shares in [0, 1]."""

    programs: int = Field(ge=1)
    """Programs with a score."""
    mean: float
    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float


class VerifySummary(Contract):
    """Termination message of a worker that verifies existing programs (worker 0 speaks for all)."""

    programs: int
    """Programs found; every one has a verdict."""
    accepted: int
    rejected: dict[str, int] = {}
    """`stage/reason` → count; the rarest are added up as `other` where a message has no room for them."""
    without_solution: int = 0
    """Accepted programs whose own solution cannot be replayed; they were judged without it."""
    mutation_scores: ScoreDistribution | None = None
    diversity: float | None = None
    """Vendi score of the accepted programs over their number; None when it was not measured."""
    canaries: dict[str, int] = {}
    """Known programs that the gate was tried on, and its errors (spade_contracts.canaries). A false accept means that
    no manifest was written."""
    let_through: tuple[str, ...] = Field(default=(), max_length=8)
    """Names of known bad programs that were accepted, as far as there is room."""
    seconds: float
    storage_uri: str
    error: str = Field(default="", max_length=1500)
