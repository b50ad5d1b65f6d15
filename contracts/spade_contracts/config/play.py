"""How environments are played (method.md §1.2, §1.5, §1.6, §1.7)."""

from enum import StrEnum

from pydantic import Field

from spade_contracts.base import Document
from spade_contracts.config.environments import PromptTemplate
from spade_contracts.config.sampling import SamplingConfig, Thinking


class Retirement(StrEnum):
    """Which suspect environments are not played again in their cycle."""

    NEVER = "Never"
    """None: every environment is played to the end of its cycle."""
    CONTRADICTED = "Contradicted"
    """Those whose plays contradict their verifier (won with an error, without any change, or by one transcript from
    every seed), and programs that fail in half of their plays or more where the designer pays for that."""
    SUSPECT = "Suspect"
    """Those, and the few from which nearly all reward of a rollout comes."""


class TruncatedEpisodes(StrEnum):
    """The compact filter (method.md §5.2)."""

    TRAINED = "Trained"
    """Truncated episodes are trained like all others."""
    MASKED = "Masked"
    """No token of a truncated episode is trained; its return still counts in the mean and deviation of its group."""


class MalformedCalls(StrEnum):
    """Turns with a `<tool_call>` of which none can be read (method.md §5.3)."""

    MASKED = "Masked"
    """Their tokens are not trained, and the player is reminded of the form."""
    TRAINED = "Trained"
    """They are trained and answered like any other text."""


class PlayConfig(Document):
    """Plays of one rollout."""

    plays_per_environment: int = Field(ge=1, le=1024)
    """Unhinted plays of each environment in each rollout."""
    hinted_plays: int = Field(ge=0, le=1024)
    """Hinted plays of each environment, once, in the first rollout of its cycle. With regretEstimator Paired at most as
    many as unhinted ones are played, since more would have none to be compared with."""
    sampling: SamplingConfig
    """Sampling of the player's turns; maxNewTokens bounds one turn."""
    prompt_template: PromptTemplate
    """Wording of the first user message."""
    max_turns: int = Field(ge=1, le=1000)
    """Turns after which an episode is truncated."""
    context_tokens: int = Field(ge=64, le=1048576)
    """Tokens of one episode, prompt included; an episode stops when 64 or fewer remain."""
    turn_timeout_seconds: float = Field(gt=0, le=7200)
    """Deadline of one generation."""
    episode_attempts: int = Field(ge=1, le=20)
    """Tries for an episode that infrastructure failed; after the last it is lost (masked), never scored."""
    retire: Retirement
    """Which environments that the live detectors suspect are not played again; all are marked in the manifest."""
    thinking: Thinking
    """Whether the player thinks. With it, each turn of a game is a training sample of its own (method.md §8.2)."""
    truncated: TruncatedEpisodes
    """Whether truncated episodes are trained."""
    malformed_calls: MalformedCalls
    """Whether turns of tool-use episodes with unreadable tool calls are trained."""
