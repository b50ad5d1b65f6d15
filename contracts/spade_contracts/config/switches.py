"""Differences between the profiles beyond plain values: one named switch each (design §9, method.md §13.2)."""

from enum import StrEnum

from spade_contracts.base import Document
from spade_contracts.tool_calls import ToolCallParsing


class LogProbTemperature(StrEnum):
    """D10: at which temperature the learner's log-probabilities are taken."""

    SAMPLING = "Sampling"
    """At that of each role's sampling, at which the engine reports its own."""
    ONE = "One"
    """At one for all samples, learner.loss.temperature, whatever they were drawn at."""


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
    """D6: whether designer samples that no later cycle would train are trained, or lost."""

    TRAINED = "Trained"
    DROPPED = "Dropped"


class BatchDenominator(StrEnum):
    """§8.3: what the summed loss is divided by."""

    REAL_SAMPLES = "RealSamples"
    FIXED = "Fixed"


class SurplusSamples(StrEnum):
    """D7: which samples go when a batch has more than perCycle x playsPerEnvironment."""

    KEPT = "Kept"
    """None: every play that was scored is trained."""
    RANDOM = "Random"
    """Plays drawn at random."""
    TAIL = "Tail"
    """The last ones: always plays of the last slots, whenever designer samples are trained."""


class MissingPrograms(StrEnum):
    """§1.2: what is done in mid-cycle about slots whose attempts were all rejected."""

    LEFT_EMPTY = "LeftEmpty"
    """Nothing: a cycle plays what its first rollout began with."""
    TOPPED_UP = "ToppedUp"
    """Before each later rollout of the cycle they are designed again, by the policy of that rollout. What comes of it
    has no hint and enters no memory; its designer is trained only with leftoverDesignerSamples: Trained."""


class ShortCycles(StrEnum):
    """§1.2: how often environments are played of which there are fewer than perCycle."""

    AS_SET = "AsSet"
    """playsPerEnvironment times."""
    SPREAD = "Spread"
    """As often as makes perCycle x playsPerEnvironment plays together, rounded up."""


class ShortBatches(StrEnum):
    """§1.2: what is done about a batch with fewer samples than perCycle x playsPerEnvironment."""

    REAL_SAMPLES = "RealSamples"
    """Nothing: it is trained as it is."""
    FILLED = "Filled"
    """Plays are repeated in turn, with their gradient; what is still missing is padding without any."""


class RepeatedReturns(StrEnum):
    """§1.2: whether the return of a play that was repeated to fill a batch counts again in its window."""

    ONCE = "Once"
    AGAIN = "Again"


class StepTimeouts(StrEnum):
    """D11: which reward variants charge the designer for a program that exceeded its time in play."""

    CHARGED = "Charged"
    """All."""
    REGRET_ONLY = "RegretOnly"
    """Only Regret."""


class RegretEstimator(StrEnum):
    """D4: which plays the hint regret compares."""

    PAIRED = "Paired"
    """Plays of one seed, with and without the hint: as many of one arm as of the other."""
    FIRST_OFFSET = "FirstOffset"
    """All hinted plays with unhinted ones: in the blend those of the first rollout that has any, in the variant Regret
    those of the whole window."""


class MissingReturns(StrEnum):
    """§5.5: what an environment without plays, or without hinted plays, counts as."""

    LEFT_OUT = "LeftOut"
    """Without plays its designer is not trained; without hinted plays it has no regret."""
    ZERO = "Zero"
    """A mean return of 0."""


class BaselineMemory(StrEnum):
    """§5.2: how far back the moving average of EmaBaseline reaches."""

    CYCLE = "Cycle"
    """To the first rollout of the environment's cycle."""
    ROLLOUT = "Rollout"
    """Nowhere: it begins at 0 in every rollout, so that advantages are the returns themselves."""


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
    """D16: who pays when a program crashes in play."""
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
    """D6: whether designer samples that no later cycle would train are trained on the last rollout, or lost."""
    batch_denominator: BatchDenominator
    """What the summed loss is divided by (method.md §1.2, §8.3)."""
    surplus_samples: SurplusSamples
    """D7: which samples go when a batch has more than perCycle x playsPerEnvironment."""
    missing_programs: MissingPrograms
    """What is done in mid-cycle about slots whose attempts were all rejected (method.md §1.2)."""
    short_cycles: ShortCycles
    """How often environments are played of which there are fewer than perCycle (method.md §0 fact 2, §1.2)."""
    short_batches: ShortBatches
    """What is done about a batch with fewer samples than that (method.md §1.2)."""
    repeated_returns: RepeatedReturns
    """Whether the return of a play that was repeated to fill a batch counts again in its window (method.md §1.2)."""
    step_timeouts: StepTimeouts
    """D11: which reward variants charge the designer for a program that exceeded its time in play."""
    regret_estimator: RegretEstimator
    """D4: which plays the hint regret compares."""
    missing_returns: MissingReturns
    """What an environment without plays, or without hinted plays, counts as (method.md §5.5)."""
    baseline_memory: BaselineMemory
    """How far back the moving average of EmaBaseline reaches (method.md §5.2)."""
    designer_without_corpus: DesignerWithoutCorpus
    """What a designer without a corpus is asked for (method.md §2.4, §10)."""
    tool_designer_system: ToolDesignerSystem
    """D13: whether the designer of tool environments gets its system prompt."""
