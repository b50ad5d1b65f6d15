"""Differences between the profiles beyond plain values: one named switch each (design §9, method.md §13.2)."""

from enum import StrEnum

from spade_contracts.base import Document
from spade_contracts.tool_calls import ToolCallParsing


class LogProbTemperature(StrEnum):
    """D10: at which temperature the learner's log-probabilities are taken."""

    SAMPLING = "Sampling"
    ONE = "One"


class EpisodeSeeds(StrEnum):
    """D2: whether both arms play explicit, shared seeds, or the unhinted arm resets with a null seed."""

    SHARED = "Shared"
    NULL_UNHINTED = "NullUnhinted"


class EnvironmentFaultCredit(StrEnum):
    """D16: who pays when a program crashes in play."""

    DESIGNER = "Designer"
    PLAYER = "Player"


class FailedHintedPlays(StrEnum):
    """D3: whether failed hinted plays are dropped like unhinted ones, or count as return 0."""

    DROPPED = "Dropped"
    ZERO = "Zero"


class BoxedAction(StrEnum):
    """D19: which boxed command of a reply is the action."""

    LAST = "Last"
    FIRST = "First"


class LeftoverDesignerSamples(StrEnum):
    """D6: whether designer samples of the last cycle are trained on the last rollout, or lost."""

    TRAINED = "Trained"
    DROPPED = "Dropped"


class BatchDenominator(StrEnum):
    """§8.3: what the summed loss is divided by."""

    REAL_SAMPLES = "RealSamples"
    FIXED = "Fixed"


class DesignerWithoutCorpus(StrEnum):
    """§2.4, §10: what a designer without a corpus is asked for."""

    SAME_CONTRACT = "SameContract"
    """What it is asked for with one, but for the document: the ablation changes one thing."""
    OTHER_CONTRACT = "OtherContract"
    """Games with sparse reward and a worked example, tools with a single task, as in the reference."""


class ToolDesignerSystem(StrEnum):
    """D13: whether the designer of tool environments gets its system prompt."""

    SENT = "Sent"
    NOT_SENT = "NotSent"


class Switches(Document):
    """Named differences. Values of `Corrected` come first in each enum."""

    log_prob_temperature: LogProbTemperature
    """D10: at which temperature the learner's log-probabilities are taken."""
    episode_seeds: EpisodeSeeds
    """D2: whether both arms play explicit, shared seeds, or the unhinted arm resets with a null seed."""
    environment_fault_credit: EnvironmentFaultCredit
    """D16, and D11 for the designer: who pays when a program crashes in play."""
    failed_hinted_plays: FailedHintedPlays
    """D3: whether failed hinted plays are dropped like unhinted ones, or count as return 0."""
    boxed_action: BoxedAction
    """D19: which boxed command of a reply is the action."""
    tool_calls: ToolCallParsing
    """D8: which tool calls of a reply count."""
    leftover_designer_samples: LeftoverDesignerSamples
    """D6: whether designer samples of the last cycle are trained on the last rollout, or lost."""
    batch_denominator: BatchDenominator
    """What the summed loss is divided by (method.md §1.2, §8.3)."""
    designer_without_corpus: DesignerWithoutCorpus
    """What a designer without a corpus is asked for (method.md §2.4, §10)."""
    tool_designer_system: ToolDesignerSystem
    """D13: whether the designer of tool environments gets its system prompt."""
