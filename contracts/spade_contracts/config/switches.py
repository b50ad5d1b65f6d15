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


class HintEnding(StrEnum):
    """D1: whether a hint loses the end token that it was drawn with, or ends the user's turn in mid-prompt with it."""

    STRIPPED = "Stripped"
    KEPT = "Kept"


class HintedPlays(StrEnum):
    """D3, D1: whether hinted plays are played like unhinted ones, or as the reference does: those of games without
    thinking, without regard to the context and to turns that do not end, with every end token of the history doubled.
    """

    LIKE_UNHINTED = "LikeUnhinted"
    BARE = "Bare"


class TurnDeltas(StrEnum):
    """D9: whether an observation's tokens are rendered explicitly, or cut out of two renderings by string length."""

    EXPLICIT = "Explicit"
    SLICED = "Sliced"


class ThoughtActions(StrEnum):
    """D20: whether `<answer>` and `<tool_call>` inside think text are acted on."""

    IGNORED = "Ignored"
    ACTED_ON = "ActedOn"


class DesignerThinking(StrEnum):
    """D5: whether the designer thinks as it is set to, or never."""

    AS_SET = "AsSet"
    NEVER = "Never"


class LeftoverDesignerSamples(StrEnum):
    """D6: whether designer samples of the last cycle are trained on the last rollout, or lost."""

    TRAINED = "Trained"
    DROPPED = "Dropped"


class BatchDenominator(StrEnum):
    """§8.3: what the summed loss is divided by."""

    REAL_SAMPLES = "RealSamples"
    FIXED = "Fixed"


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
    hint_ending: HintEnding
    """D1: whether a hint loses its end token, or ends the user's turn in mid-prompt with it."""
    hinted_plays: HintedPlays
    """D3, D1: whether hinted plays are played like unhinted ones, or with the reference's omissions."""
    turn_deltas: TurnDeltas
    """D9: whether an observation's tokens are rendered explicitly, or cut out of two renderings by string length."""
    thought_actions: ThoughtActions
    """D20: whether `<answer>` and `<tool_call>` inside think text are acted on."""
    designer_thinking: DesignerThinking
    """D5: whether the designer thinks as it is set to, or never."""
    boxed_action: BoxedAction
    """D19: which boxed command of a reply is the action."""
    tool_calls: ToolCallParsing
    """D8: which tool calls of a reply count."""
    leftover_designer_samples: LeftoverDesignerSamples
    """D6: whether designer samples of the last cycle are trained on the last rollout, or lost."""
    batch_denominator: BatchDenominator
    """What the summed loss is divided by (method.md §1.2, §8.3)."""
