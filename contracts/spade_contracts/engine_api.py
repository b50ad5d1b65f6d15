"""Messages of an engine's two closed ports: generation for workers, weights for the learner (design §7)."""

from enum import StrEnum

from pydantic import Field

from spade_contracts.base import Contract


class GenerateRequest(Contract):
    """`POST /generate` on the data port: token ids in, token ids out."""

    token_ids: tuple[int, ...] = Field(min_length=1)
    temperature: float
    top_p: float = 1.0
    top_k: int = -1
    max_new_tokens: int = Field(ge=1)
    seed: int
    """Counter-based, so that a repeated request draws the same tokens on the same engine."""
    policy_version: int
    """The version asked for; an engine that is not proven at it refuses with `wrong_policy`."""
    log_prob_temperature: float = 0.0
    """0: log-probabilities are processed ones, at the sampling temperature."""


class VersionSpan(Contract):
    """A run of output tokens computed by one policy version."""

    policy_version: int
    tokens: int


class FinishReason(StrEnum):
    """Why a generation ended."""

    STOP = "stop"
    LENGTH = "length"


class GenerateResponse(Contract):
    """The tokens drawn, end-of-turn token included when it was drawn."""

    token_ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    finish_reason: FinishReason
    spans: tuple[VersionSpan, ...]
    boot_id: str


class LoadRequest(Contract):
    """`POST /load` on the control port: take a policy's files from run storage."""

    policy_version: int
    uri: str
    """Folder of the policy: safetensors and policy.json."""


class LoadReport(Contract):
    """What the engine read and handed to its model."""

    boot_id: str
    policy_version: int
    tensors_sha256: str
    """SHA-256 over the loaded tensors' bytes by sorted name; equals the policy manifest's."""
    tensors: int
    seconds: float


class ScoreRequest(Contract):
    """`POST /score` on the control port: log-probabilities of given tokens, in one forward pass, temperature 1."""

    token_ids: tuple[int, ...] = Field(min_length=2)


class ScoreResponse(Contract):
    """log_probs[i] is the log-probability of token i+1 given the tokens up to i."""

    boot_id: str
    loaded_policy_version: int
    log_probs: tuple[float, ...]


class CanaryRequest(Contract):
    """`POST /canary` on the control port: scale a known tensor in place, or restore it (factor 1)."""

    factor: float = Field(gt=0)
    """`model.norm.weight` becomes its loaded value times this."""


class CanaryReport(Contract):
    """The tensor's sum after the change, in fp32."""

    boot_id: str
    tensor: str
    sum: float


class AdmitRequest(Contract):
    """`POST /admit` on the control port: the learner's verdict. Only an equal boot id and version are admitted."""

    boot_id: str
    policy_version: int
    canary_passed: bool


class SleepReport(Contract):
    """Answer to `POST /sleep` and `POST /wake` on the control port, which have no body."""

    boot_id: str
    asleep: bool
    frees_memory: bool
    """Whether sleep gives device memory back. vLLM's CPU build only stops computing."""


class EngineErrorBody(Contract):
    """Body of every refusal."""

    error: str
    """`unauthorized`, `not_serving`, `wrong_policy`, `bad_request`, `too_long`, `updating`, `asleep`, `failed`."""
    message: str
    verified_policy_version: int | None = None
