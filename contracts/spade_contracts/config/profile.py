"""The defaults of each profile, constant by constant, and how a user's settings are laid over them."""

from typing import Any

from pydantic import ValidationError

from spade_contracts.config import switches as sw
from spade_contracts.config.environments import Domain
from spade_contracts.config.families import ALL_FAMILIES, MAX_DIFFICULTY
from spade_contracts.config.method import MethodConfig, Profile
from spade_contracts.config.partial import merged
from spade_contracts.config.play import Retirement
from spade_contracts.config.skills import GAMES_SKILLS, TOOLS_SKILLS
from spade_contracts.config.verification import FULL_BATTERY
from spade_contracts.tool_calls import ToolCallParsing
from spade_contracts.wrong_input import below, wrong_input


def paper_defaults(domain: Domain) -> dict[str, Any]:
    """The recipe of the reference for a domain (method.md §1.3, §1.4, §1.5, §5.4, §6, §7, §8.1)."""
    return _games() if domain is Domain.GAMES else merged(_games(), TOOLS_RECIPE)


TOOLS_RECIPE: dict[str, Any] = {
    "environments": {
        "domain": "Tools",
        "cycle_length": 8,
        "skills": TOOLS_SKILLS,
        "active_skills": 6,
        "hints": {"sampling": {"max_new_tokens": 2048}},
        "corpus": {"max_words": 4000},
    },
    "play": {"truncated": "Masked"},
    "learner": {"loss": {"kl_coefficient": 0.005}},
}
"""What the tools recipe of 8B and 30B has otherwise than the games recipe."""


def _games() -> dict[str, Any]:
    """The games recipe of the reference."""
    return {
        "profile": Profile.PAPER,
        "seed": 42,
        "environments": {
            "domain": "Games",
            "per_cycle": 24,
            "cycle_length": 4,
            "skills": GAMES_SKILLS,
            "active_skills": 3,
            # method.md §10
            "families": {
                "names": ALL_FAMILIES,
                "window": 4,
                "attempts": 128,
                "success": 0.9,
                "top": MAX_DIFFICULTY,
            },
            "difficulty": "medium",
            "designer": {
                "source": "Policy",
                "sampling": {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "max_new_tokens": 16384},
                "prompt_template": "Full",
                "attempts": 5,
                "generation_timeout_seconds": 300.0,
                "thinking": "Disabled",
                "all_rejected": "Fail",
            },
            "hints": {
                "mode": "Self",
                "sampling": {"temperature": 0.3, "top_p": 0.9, "top_k": -1, "max_new_tokens": 4096},
                "attempts": 3,
            },
            "memory": {"size": 200, "positives": 2, "negatives": 1, "snippet_characters": 2000},
            "corpus": {"uri": "package:mini", "max_words": 6000, "duplicates": "Kept"},
            "verification": {"stages": ()},
        },
        "play": {
            "plays_per_environment": 8,
            "hinted_plays": 16,
            "sampling": {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "max_new_tokens": 8192},
            "prompt_template": "Full",
            "max_turns": 25,
            "context_tokens": 32768,
            "turn_timeout_seconds": 300.0,
            "episode_attempts": 2,
            "retire": Retirement.NEVER,
            "thinking": "Disabled",
            "truncated": "Trained",
            "malformed_calls": "Masked",
        },
        "rewards": {
            "variant": "Blend",
            "plateau": {"low": 0.4, "high": 0.6, "ramp": 0.25},
            "plateau_weight": 0.6,
            "regret_weight": 0.4,
            "regret_scale": 0.15,
            "regret_floor": True,
            "micro_lp": {"weight": 0.0, "scale": 0.10, "signed": True, "estimator": "Slope"},
            "frontier": {"weight": 0.0, "scale": 0.08},
            "learning_potential": {"fast": 0.98, "slow": 0.85, "variance_bonus": False},
            "fault_penalty": 0.5,
            "negative_blends": "Masked",
            "centring": "Skill",
            "auto_scale": True,
            "designer_scale_cap": 50.0,
            "train_designer": True,
            "delay_cycles": 1,
            "player_normalisation": "ZScore",
            "baseline_decay": 0.5,
        },
        "learner": {
            "ranks": 1,
            "parallelism": {"tensor": 1, "pipeline": 1, "context": 1, "expert": 1},
            "optimizer": {
                "learning_rate": 1e-6,
                "beta1": 0.9,
                "beta2": 0.98,
                "weight_decay": 0.1,
                "clip_gradient_norm": 1.0,
            },
            "loss": {
                "clip_low": 0.2,
                "clip_high": 0.28,
                "importance_low": 0.0,
                "importance_high": 2.0,
                "kl_coefficient": 0.0,
                "temperature": 1.0,
                "max_tokens_per_microbatch": 8192,
            },
            "checkpoint_every": 16,
        },
        "limits": {},
        "switches": {
            "log_prob_temperature": sw.LogProbTemperature.ONE,
            "episode_seeds": sw.EpisodeSeeds.NULL_UNHINTED,
            "environment_fault_credit": sw.EnvironmentFaultCredit.PLAYER,
            "failed_hinted_plays": sw.FailedHintedPlays.ZERO,
            "hint_ending": sw.HintEnding.KEPT,
            "hinted_plays": sw.HintedPlays.BARE,
            "turn_deltas": sw.TurnDeltas.SLICED,
            "thought_actions": sw.ThoughtActions.ACTED_ON,
            "designer_thinking": sw.DesignerThinking.NEVER,
            "boxed_action": sw.BoxedAction.FIRST,
            "tool_calls": ToolCallParsing.LENIENT,
            "leftover_designer_samples": sw.LeftoverDesignerSamples.DROPPED,
            "batch_denominator": sw.BatchDenominator.FIXED,
            "surplus_samples": sw.SurplusSamples.TAIL,
            "missing_programs": sw.MissingPrograms.TOPPED_UP,
            "short_cycles": sw.ShortCycles.SPREAD,
            "short_batches": sw.ShortBatches.FILLED,
            "repeated_returns": sw.RepeatedReturns.AGAIN,
            "step_timeouts": sw.StepTimeouts.REGRET_ONLY,
            "regret_estimator": sw.RegretEstimator.FIRST_OFFSET,
            "missing_returns": sw.MissingReturns.ZERO,
            "baseline_memory": sw.BaselineMemory.ROLLOUT,
            "designer_without_corpus": sw.DesignerWithoutCorpus.OTHER_CONTRACT,
            "tool_designer_system": sw.ToolDesignerSystem.NOT_SENT,
        },
    }


def corrected_defaults(domain: Domain) -> dict[str, Any]:
    """The same recipe with its defects fixed; sampling is untruncated so that the learner's numbers are exact."""
    untruncated = {"top_p": 1.0, "top_k": -1}
    corrections = {
        "profile": Profile.CORRECTED,
        "environments": {
            "designer": {"sampling": untruncated},
            "corpus": {"duplicates": "Near"},
            "verification": {"stages": FULL_BATTERY},
        },
        "play": {"hinted_plays": 8, "sampling": untruncated, "episode_attempts": 3, "retire": Retirement.CONTRADICTED},
        "learner": {"checkpoint_every": 4},
        "switches": {
            "log_prob_temperature": sw.LogProbTemperature.SAMPLING,
            "episode_seeds": sw.EpisodeSeeds.SHARED,
            "environment_fault_credit": sw.EnvironmentFaultCredit.DESIGNER,
            "failed_hinted_plays": sw.FailedHintedPlays.DROPPED,
            "hint_ending": sw.HintEnding.STRIPPED,
            "hinted_plays": sw.HintedPlays.LIKE_UNHINTED,
            "turn_deltas": sw.TurnDeltas.EXPLICIT,
            "thought_actions": sw.ThoughtActions.IGNORED,
            "designer_thinking": sw.DesignerThinking.AS_SET,
            "boxed_action": sw.BoxedAction.LAST,
            "tool_calls": ToolCallParsing.STRICT,
            "leftover_designer_samples": sw.LeftoverDesignerSamples.TRAINED,
            "batch_denominator": sw.BatchDenominator.REAL_SAMPLES,
            "surplus_samples": sw.SurplusSamples.KEPT,
            "missing_programs": sw.MissingPrograms.LEFT_EMPTY,
            "short_cycles": sw.ShortCycles.AS_SET,
            "short_batches": sw.ShortBatches.REAL_SAMPLES,
            "repeated_returns": sw.RepeatedReturns.ONCE,
            "step_timeouts": sw.StepTimeouts.CHARGED,
            "regret_estimator": sw.RegretEstimator.PAIRED,
            "missing_returns": sw.MissingReturns.LEFT_OUT,
            "baseline_memory": sw.BaselineMemory.CYCLE,
            "designer_without_corpus": sw.DesignerWithoutCorpus.SAME_CONTRACT,
            "tool_designer_system": sw.ToolDesignerSystem.SENT,
        },
    }
    return merged(paper_defaults(domain), corrections)


def resolve(profile: Profile, patch: dict[str, Any]) -> MethodConfig:
    """The profile's settings with the user's laid over them, checked as a whole.

    `patch` holds field names (snake_case), nested. Raises InvalidInput that names the field and what to write.
    """
    domain = _domain(patch)
    defaults = paper_defaults(domain) if profile is Profile.PAPER else corrected_defaults(domain)
    try:
        return MethodConfig.model_validate(merged(defaults, patch))
    except ValidationError as error:
        raise wrong_input(error, MethodConfig, below("spec")) from error


def _domain(patch: dict[str, Any]) -> Domain:
    """Whose recipe the patch is laid over; an unknown domain is refused when the whole is checked."""
    environments = patch.get("environments")
    named = environments.get("domain", Domain.GAMES) if isinstance(environments, dict) else Domain.GAMES
    return Domain(named) if named in tuple(Domain) else Domain.GAMES
