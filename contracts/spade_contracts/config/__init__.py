"""The method's settings: one model per part, one profile per set of defaults (design §9)."""

from spade_contracts.config.environments import (
    CorpusConfig,
    DesignerConfig,
    EnvironmentsConfig,
    HintConfig,
    MemoryConfig,
)
from spade_contracts.config.learner import LossConfig, OptimizerConfig, ParallelismConfig
from spade_contracts.config.method import MethodConfig
from spade_contracts.config.play import PlayConfig
from spade_contracts.config.profile import resolve
from spade_contracts.config.rewards import PlateauConfig, RewardsConfig
from spade_contracts.config.sampling import SamplingConfig
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.config.switches import Switches
from spade_contracts.config.verification import VerificationSettings

__all__ = [
    "CorpusConfig",
    "DesignerConfig",
    "EnvironmentsConfig",
    "HintConfig",
    "LossConfig",
    "MemoryConfig",
    "MethodConfig",
    "OptimizerConfig",
    "ParallelismConfig",
    "PlateauConfig",
    "PlayConfig",
    "RewardsConfig",
    "SamplingConfig",
    "SandboxLimits",
    "Switches",
    "VerificationSettings",
    "resolve",
]
