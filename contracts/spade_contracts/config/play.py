"""How environments are played (method.md §1.2, §1.5, §1.6, §1.7)."""

from enum import StrEnum

from pydantic import Field

from spade_contracts.base import Document
from spade_contracts.config.environments import PromptTemplate
from spade_contracts.config.sampling import SamplingConfig


class Retirement(StrEnum):
    """Which suspect environments are not played again in their cycle."""

    NEVER = "Never"
    """None: every environment is played to the end of its cycle."""
    CONTRADICTED = "Contradicted"
    """Those whose plays contradict their verifier (won with an error, without any change, or by one transcript from
    every seed), and programs that fail in half of their plays or more where the designer pays for that."""
    SUSPECT = "Suspect"
    """Those, and the few from which nearly all reward of a rollout comes."""


class PlayConfig(Document):
    """Plays of one rollout."""

    plays_per_environment: int = Field(ge=1, le=1024)
    """Unhinted plays of each environment in each rollout."""
    hinted_plays: int = Field(ge=0, le=1024)
    """Hinted plays of each environment, once, in the first rollout of its cycle."""
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
