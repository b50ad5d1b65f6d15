"""Where a role's pods may run: taints that they tolerate, nodes and neighbours that they want, priority, spread."""

from enum import StrEnum

from pydantic import Field, model_validator

from spade_contracts.base import Document
from spade_contracts.resources.scalars import LABEL_KEYS, LabelKey, LabelValue

VALUE_OF_EXISTS = "a toleration with operator Exists has no value: remove value, or write operator: Equal"
SECONDS_WITHOUT_EVICTION = "tolerationSeconds is for effect NoExecute: write effect: NoExecute, or remove it"
VALUES_OF_SETS = "operators In and NotIn need values: write at least one, or use Exists or DoesNotExist"
VALUES_OF_PRESENCE = "operators Exists and DoesNotExist have no values: remove them, or write operator: In"
VALUE_OF_ORDER = "operators Gt and Lt compare with one whole number: write it as the only one of values"


class TolerationOperator(StrEnum):
    """How a toleration's value is compared with a taint's."""

    EQUAL = "Equal"
    EXISTS = "Exists"


class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(Document):
    """A taint that the pods tolerate. A key is needed: pods that tolerate everything would never leave a lost node."""

    key: LabelKey
    """The taint's key."""
    operator: TolerationOperator = TolerationOperator.EQUAL
    """Exists tolerates every value."""
    value: LabelValue = ""
    """The taint's value; only with Equal."""
    effect: TaintEffect | None = None
    """The taint's effect; left out, all of them."""
    toleration_seconds: int | None = Field(default=None, ge=0, le=604800)
    """How long a pod stays after a NoExecute taint has come; left out, for ever."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Toleration":
        if self.operator is TolerationOperator.EXISTS and self.value:
            raise ValueError(VALUE_OF_EXISTS)
        if self.toleration_seconds is not None and self.effect is not TaintEffect.NO_EXECUTE:
            raise ValueError(SECONDS_WITHOUT_EVICTION)
        return self


class NodeOperator(StrEnum):
    """How a node's label is compared."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class NodeExpression(Document):
    """What a label of a node must be."""

    key: LabelKey
    """The label."""
    operator: NodeOperator
    """How it is compared."""
    values: tuple[LabelValue, ...] = Field(default=(), max_length=32)
    """With what: at least one for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt."""

    @model_validator(mode="after")
    def _fits_together(self) -> "NodeExpression":
        match self.operator:
            case NodeOperator.IN | NodeOperator.NOT_IN if not self.values:
                raise ValueError(VALUES_OF_SETS)
            case NodeOperator.EXISTS | NodeOperator.DOES_NOT_EXIST if self.values:
                raise ValueError(VALUES_OF_PRESENCE)
            case NodeOperator.GT | NodeOperator.LT if len(self.values) != 1 or not self.values[0].isdecimal():
                raise ValueError(VALUE_OF_ORDER)
        return self


class PreferredNodes(Document):
    """Nodes that are better than others."""

    weight: int = Field(ge=1, le=100)
    """How much better."""
    match_expressions: tuple[NodeExpression, ...] = Field(min_length=1, max_length=8)
    """What they are like; all must hold."""


class NodeAffinity(Document):
    """Nodes by their labels."""

    required: tuple[NodeExpression, ...] = Field(default=(), max_length=8)
    """What a node must be like; all must hold."""
    preferred: tuple[PreferredNodes, ...] = Field(default=(), max_length=8)
    """What it had better be like."""


class PodTerm(Document):
    """Pods of the run's namespace, and how near is near."""

    topology_key: LabelKey
    """Label of nodes; those with the same value are one place, such as `kubernetes.io/hostname`."""
    match_labels: dict[LabelKey, LabelValue] = Field(min_length=1, max_length=8, json_schema_extra=LABEL_KEYS)
    """Labels of the pods; all must be there."""


class PreferredPods(Document):
    """Pods that it is better to be near to, or away from."""

    weight: int = Field(ge=1, le=100)
    """How much better."""
    term: PodTerm
    """Which pods, and how near is near."""


class PodAffinity(Document):
    """Places by the pods that are there."""

    required: tuple[PodTerm, ...] = Field(default=(), max_length=4)
    """What must hold."""
    preferred: tuple[PreferredPods, ...] = Field(default=(), max_length=4)
    """What had better hold."""


class Affinity(Document):
    """Nodes and neighbours that a role's pods want or avoid."""

    node_affinity: NodeAffinity = NodeAffinity()
    """Nodes that they want."""
    pod_affinity: PodAffinity = PodAffinity()
    """Pods that they want to be near to."""
    pod_anti_affinity: PodAffinity = PodAffinity()
    """Pods that they want to be away from."""


class Unsatisfiable(StrEnum):
    """What happens to a pod that no place takes without more skew."""

    SCHEDULE_ANYWAY = "ScheduleAnyway"
    DO_NOT_SCHEDULE = "DoNotSchedule"


class TopologySpread(Document):
    """How evenly the role's pods of this run are spread over places. Which pods are counted is filled in."""

    topology_key: LabelKey
    """Label of nodes; those with the same value are one place, such as `topology.kubernetes.io/zone`."""
    max_skew: int = Field(default=1, ge=1, le=1000)
    """How many pods more one place may have than another."""
    when_unsatisfiable: Unsatisfiable = Unsatisfiable.SCHEDULE_ANYWAY
    """DoNotSchedule rather waits."""
