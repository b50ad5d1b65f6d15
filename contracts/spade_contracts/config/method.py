"""The resolved settings of a run: what run.json records and every process computes with."""

from enum import StrEnum

from pydantic import Field, model_validator

from spade_contracts.base import Document
from spade_contracts.config.environments import ASKED, DesignerSource, Domain, EnvironmentsConfig
from spade_contracts.config.learner import LearnerConfig
from spade_contracts.config.play import PlayConfig
from spade_contracts.config.rewards import RewardsConfig, RewardVariant
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.config.switches import LogProbTemperature, MissingPrograms, Switches


class Profile(StrEnum):
    """Whose numbers: `Paper` reproduces the reference, `Corrected` fixes its defects."""

    CORRECTED = "Corrected"
    PAPER = "Paper"


class MethodConfig(Document):
    """Everything that decides the numbers of a run; immutable once a run is accepted."""

    profile: Profile
    """Where the defaults came from."""
    seed: int = Field(ge=0, le=2**31 - 1)
    """Root of every random draw."""
    environments: EnvironmentsConfig
    """Environments of a cycle."""
    play: PlayConfig
    """Plays of a rollout."""
    rewards: RewardsConfig
    """Returns and credit."""
    learner: LearnerConfig
    """Optimisation and layout."""
    limits: SandboxLimits
    """What a program may use."""
    switches: Switches
    """Named differences between the profiles."""

    @model_validator(mode="after")
    def _combinations(self) -> "MethodConfig":
        env = self.environments
        if env.designer.source is DesignerSource.FAMILIES:
            env.families.check(env.per_cycle)
            if env.domain is not Domain.GAMES:
                raise ValueError("environments.designer.source: Families are games; write environments.domain: Games")
        if env.active_skills > len(env.skills):
            raise ValueError(
                f"environments.activeSkills ({env.active_skills}) is more than the {len(env.skills)} skills; "
                "name more skills or lower it"
            )
        if len(set(env.skills)) != len(env.skills):
            raise ValueError("environments.skills names a skill twice; name each once")
        bonus = self.rewards.learning_potential.variance_bonus
        if bonus and self.profile is Profile.CORRECTED and self.rewards.variant is not RewardVariant.LEARNING_POTENTIAL:
            raise ValueError(
                f"rewards.learningPotential.varianceBonus does nothing with variant {self.rewards.variant.value} "
                "(D14); leave it out, or use variant LearningPotential"
            )
        if self.switches.log_prob_temperature is LogProbTemperature.SAMPLING:
            for where, sampling in (("environments.designer", env.designer.sampling), ("play", self.play.sampling)):
                if sampling.top_p < 1 or sampling.top_k > 0:
                    raise ValueError(
                        f"{where}.sampling cuts the distribution (topP {sampling.top_p}, topK {sampling.top_k}), "
                        "which the learner cannot renormalise; use topP 1 and topK -1, "
                        "or switches.logProbTemperature: One"
                    )
        return self

    def cycle_of(self, rollout: int) -> int:
        """The cycle that a rollout belongs to."""
        return rollout // self.environments.cycle_length

    def starts_cycle(self, rollout: int) -> bool:
        """Whether new environments are designed before this rollout."""
        return rollout % self.environments.cycle_length == 0

    def may_top_up(self, rollout: int) -> bool:
        """Whether empty slots of the cycle are designed again before this rollout (switch missingPrograms)."""
        topped_up = self.switches.missing_programs is MissingPrograms.TOPPED_UP
        return topped_up and not self.starts_cycle(rollout) and self.environments.designer.source in ASKED
