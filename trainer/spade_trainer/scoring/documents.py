"""What `spade score` reads. Field names are camelCase in JSON; unknown ones are refused."""

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from spade_contracts.base import Document
from spade_contracts.config import LossConfig, RewardsConfig, Switches
from spade_contracts.config.environments import Domain
from spade_contracts.config.method import Profile
from spade_contracts.config.partial import partial
from spade_trainer.rewards.returns import KNOWN_FAULTS

Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e9, le=1e9)]
Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
Ratio = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e9)]
Name = Annotated[str, Field(strict=True, min_length=1, max_length=256)]
Flag = Annotated[bool, Field(strict=True)]
OFFSET = re.compile(r"0|[1-9][0-9]{0,8}")
"""One spelling for each offset, so that none is there twice."""
ONE, MANY, KEYED = "~one", "~many", "~keyed"
"""Names of the forms that a value may have; no JSON path shows them (reading.py)."""


def _form(value: Any) -> str:
    """Which form a value has."""
    return KEYED if isinstance(value, dict) else MANY if isinstance(value, list | tuple) else ONE


def _one_or_zero(value: Any) -> bool:
    """A mask's entry: true, false, 1 or 0, as a whole number or as the 1.0 that arrays are written with."""
    if not isinstance(value, int | float) or value not in {0, 1}:
        raise ValueError("is none of 1, 0, true and false")
    return bool(value)


Masked = Annotated[bool, BeforeValidator(_one_or_zero)]

if TYPE_CHECKING:

    class RewardsPatch(Document):
        """All optional fields of RewardsConfig."""

    class SwitchesPatch(Document):
        """All optional fields of Switches."""

    class LossPatch(Document):
        """All optional fields of LossConfig."""

else:
    RewardsPatch = partial(RewardsConfig)
    SwitchesPatch = partial(Switches)
    LossPatch = partial(LossConfig)


class CyclePatch(Document):
    """What of `environments` decides rewards."""

    per_cycle: int | None = Field(default=None, ge=1, le=1024)
    """Environments of a cycle."""
    cycle_length: int | None = Field(default=None, ge=1, le=1000)
    """Rollouts of a cycle."""


class PlaysPatch(Document):
    """What of `play` decides rewards."""

    plays_per_environment: int | None = Field(default=None, ge=1, le=1024)
    """Unhinted plays of an environment in a rollout."""


class LearnerPatch(Document):
    """What of `learner` decides losses."""

    loss: LossPatch | None = None
    """The loss."""


class SettingsPatch(Document):
    """Settings laid over the profile's, under the names that a SpadeRun has for them."""

    seed: int | None = Field(default=None, ge=0, le=2**31 - 1)
    """Root of random draws."""
    environments: CyclePatch | None = None
    """Size of a cycle."""
    play: PlaysPatch | None = None
    """Plays of a rollout."""
    rewards: RewardsPatch | None = None
    """Rewards and credit."""
    learner: LearnerPatch | None = None
    """The loss."""
    switches: SwitchesPatch | None = None
    """Named differences between the profiles."""


class Head(Document):
    """Whose numbers a document is scored with."""

    profile: Profile = Profile.CORRECTED
    """Where defaults come from."""
    domain: Domain = Domain.GAMES
    """Whose recipe."""
    settings: SettingsPatch = SettingsPatch()
    """Settings laid over the profile's."""


class Moment(StrEnum):
    """When rewards are computed."""

    WINDOW = "Window"
    """After the window."""
    GENERATION = "Generation"
    """In the rollout that designed the environments: the reference's reward where no window was kept."""


Row = tuple[Number | None, ...]
Offsets = Annotated[
    Annotated[tuple[Row, ...], Tag(MANY)] | Annotated[dict[str, Row], Tag(KEYED)],
    Discriminator(
        lambda value: None if _form(value) == ONE else _form(value),
        custom_error_type="offsets",
        custom_error_message="is neither a list of lists nor an object from offset to list",
    ),
]


class EnvironmentInput(Document):
    """One environment and its returns."""

    id: Name
    """Any name, once in a document."""
    skill: Name = "unknown"
    """Rewards are centred within a skill."""
    unhinted: Offsets = ()
    """Returns by rollout of the cycle: a list of lists, in which an empty one means that nothing was recorded, or an
    object from offset (`"0"`) to list, in which an empty one is a recorded mean of 0. null: a play that counts for
    nothing."""
    hinted: tuple[Number | None, ...] = ()
    """Hinted returns by play."""
    hint_return: Number | None = None
    """Mean hinted return, where single ones are not known."""
    step_timeout: Flag = False
    """Whether the program exceeded its time in play."""
    fault: Flag = False
    """Whether the program failed in play in another way."""

    @model_validator(mode="after")
    def _one_hint(self) -> "EnvironmentInput":
        if self.hinted and self.hint_return is not None:
            raise ValueError("has both hinted and hintReturn; write one of them")
        if isinstance(self.unhinted, dict):
            wrong = [key for key in self.unhinted if not OFFSET.fullmatch(key)]
            if wrong:
                raise ValueError(
                    f"unhinted has the offset {wrong[0]!r}; write whole numbers from 0, without leading zeros"
                )
        return self


class CountsInput(Document):
    """What the scale of designer advantages is computed from."""

    players: Count | None = None
    """Plays of the rollout that trains the designs. Default: perCycle x playsPerEnvironment."""
    designers: Count | None = None
    """Designs that are trained with them. Default: the environments of which anything is known."""


class WindowInput(Head):
    """`spade score FILE`: the environments of one cycle."""

    environments: tuple[EnvironmentInput, ...]
    """The environments."""
    counts: CountsInput = CountsInput()
    """What the scale is computed from."""
    scale: Number | None = Field(default=None, ge=0)
    """The scale itself, in place of the computed one."""
    moment: Moment = Moment.WINDOW
    """When the rewards are computed."""
    history: dict[Name, tuple[Number, ...]] = {}
    """Mean return of each skill over earlier windows, oldest first, for the variant LearningPotential."""
    update_trackers: Flag = True
    """Whether moving averages take in this window before it is measured against them, as in every run."""


class EpisodeInput(Document):
    """One play: its return, or what its return follows from."""

    id: Name | None = None
    """Any name. Default: made of the environment's and the position."""
    episode_return: Number | None = Field(default=None, alias="return")
    """The return, as it is; without it, it follows from rewards, terminated and fault."""
    rewards: tuple[Number, ...] = ()
    """The environment's reward of each step."""
    terminated: Flag = False
    """Whether the environment said that the episode reached its end."""
    fault: Name | None = None
    """Kind and operation of an environment fault, such as `crash/step`."""
    lost: Flag = False
    """Whether infrastructure failed: the play counts for nothing."""

    @field_validator("fault")
    @classmethod
    def _known_fault(cls, value: str | None) -> str | None:
        if value is not None and value not in KNOWN_FAULTS:
            raise ValueError(f"{value!r} is no fault of a program; write one of {', '.join(sorted(KNOWN_FAULTS))}")
        return value

    @model_validator(mode="after")
    def _one_return(self) -> "EpisodeInput":
        if self.episode_return is not None and self.fault is not None:
            raise ValueError("has both return and fault, from which the return follows; write one of them")
        return self


Play = Annotated[
    Annotated[EpisodeInput, Tag(KEYED)] | Annotated[Number | None, Tag(ONE)],
    Discriminator(lambda value: KEYED if isinstance(value, EpisodeInput | dict) else ONE),
]


class PlayedInput(Document):
    """The unhinted plays of one environment in one rollout."""

    id: Name
    """Any name, once in a document."""
    episodes: tuple[Play, ...]
    """Plays in order: a return, an object, or null for one that counts for nothing."""
    earlier: tuple[tuple[Number, ...], ...] = ()
    """Returns of the cycle's earlier rollouts, oldest first, for playerNormalisation EmaBaseline."""


class DesignInput(Document):
    """One design that is due."""

    id: Name
    """Any name, once in a document."""
    skill: Name = "unknown"
    """Rewards are centred within a skill."""
    reward: Number | None
    """Before centring, as `spade score` prints it; null: nothing is known of the environment."""
    masked: Flag = False
    """Whether its blend is negative and it is not trained for that, as `spade score` prints it."""
    cycle: Count | None = None
    """The cycle that it was made for; it is trained if that cycle is due. Default: it is due."""
    off_schedule: Flag = False
    """Whether it was made in mid-cycle, to replace a missing environment."""


class BatchInput(Head):
    """`spade score --batch FILE`: the plays of one rollout and the designs that are due."""

    environments: tuple[PlayedInput, ...]
    """Environments by slot."""
    designers: tuple[DesignInput, ...] = ()
    """Designs by slot."""
    generated: Count = 0
    """Designs that this rollout itself began with."""
    rollout: Count = 0
    """Number of the rollout. It decides which cycles are due, and with the seed random trims."""
    last_rollout: Flag = False
    """Whether the run ends with this rollout."""
    discount: Number | None = None
    """If given, discounted returns of each play are printed too. Nothing trains with them."""


Advantage = Annotated[
    Annotated[Number, Tag(ONE)] | Annotated[tuple[Number, ...], Tag(MANY)],
    Discriminator(lambda value: MANY if _form(value) == MANY else ONE),
]


class SampleInput(Document):
    """Log-probabilities of one sample, one entry a token; all lists have one length."""

    id: Name | None = None
    """Any name. Default: the position."""
    train: tuple[Number, ...] | None = None
    """By the learner's present policy."""
    rollout: tuple[Number, ...] | None = None
    """By the engine that drew the tokens. Default: the learner's, so that every importance weight is 1."""
    reference: tuple[Number, ...] | None = None
    """By the reference policy. Without it there is no KL term."""
    old: tuple[Number, ...] | None = None
    """By the policy before this step. Default: the learner's, so that every ratio is 1."""
    ratios: tuple[Ratio, ...] | None = None
    """New over old probability, in place of `old`."""
    values: tuple[Number, ...] | None = None
    """Losses of tokens to be reduced as they are, in place of all log-probabilities."""
    mask: tuple[Masked, ...] | None = None
    """1 or true on trained tokens. Default: all are trained."""
    advantage: Advantage = 0.0
    """One for all tokens, or one a token."""
    denominator: Number | None = Field(default=None, gt=0)
    """What the sample's summed loss is divided by. Default: the trained tokens of its group, at least 1."""
    group: Name | None = None
    """Samples of one episode share a group and its denominator. Default: each sample is its own."""


class LossInput(Head):
    """`spade score --loss FILE`: the samples of one optimiser step."""

    samples: tuple[SampleInput, ...]
    """The samples."""
    batch_denominator: Number | None = Field(default=None, gt=0)
    """What the sum over samples is divided by. Default, by the switch batchDenominator: the number of groups, or
    perCycle x playsPerEnvironment."""
