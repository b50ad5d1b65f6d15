"""What is said of an object while the API server's definitions are of another edition than the operator.

One condition is set and nothing else: a whole status could lose fields that only one of the two editions knows.
"""

from datetime import datetime

from spade_contracts.resources import BatchCondition, Condition, ConditionStatus, Reason, RunCondition
from spade_operator.reconcile.conditions import set_conditions
from spade_operator.records import BatchRecord, RunRecord

ENDS = frozenset({RunCondition.COMPLETE, RunCondition.FAILED})


def held(record: RunRecord | BatchRecord, difference: str, now: datetime) -> Condition | None:
    """The condition to be applied; None when it stands already, or when the object has ended and waits for nothing."""
    kind = RunCondition.PROGRESSING if isinstance(record, RunRecord) else BatchCondition.COMPLETE
    before = record.status.conditions
    if any(c.type in ENDS and c.status is ConditionStatus.TRUE for c in before):
        return None
    mark = (ConditionStatus.FALSE, Reason.EDITION_DIFFERS, difference)
    wanted = set_conditions(before, {kind: mark}, record.meta.generation, now)[kind]
    return None if wanted in before else wanted
