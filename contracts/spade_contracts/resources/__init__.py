"""The three custom resources, their conditions and reasons (design §5).

CRDs and the API reference are made from these.
"""

from spade_contracts.labels import GROUP, VERSION
from spade_contracts.resources.conditions import Condition, ConditionStatus
from spade_contracts.resources.env_batch import EnvBatchSpec, EnvBatchStatus
from spade_contracts.resources.reasons import BatchCondition, Reason, RolloutCondition, RunCondition
from spade_contracts.resources.rollout_job import RolloutJobSpec, RolloutJobStatus
from spade_contracts.resources.run_parts import Suspend
from spade_contracts.resources.spade_run import Phase, SpadeRunSpec, SpadeRunStatus

__all__ = [
    "GROUP",
    "VERSION",
    "BatchCondition",
    "Condition",
    "ConditionStatus",
    "EnvBatchSpec",
    "EnvBatchStatus",
    "Phase",
    "Reason",
    "RolloutCondition",
    "RolloutJobSpec",
    "RolloutJobStatus",
    "RunCondition",
    "SpadeRunSpec",
    "SpadeRunStatus",
    "Suspend",
]
