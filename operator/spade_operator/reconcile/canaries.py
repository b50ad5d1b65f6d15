"""What the gate's error on known programs means for a batch: after one false accept nothing of it is admitted."""

from collections.abc import Mapping, Sequence

from spade_contracts.canaries import BAD, false_accepts
from spade_contracts.resources import BatchCondition, ConditionStatus, Reason
from spade_operator.reconcile.conditions import Mark


def unsound_gate(
    figures: Mapping[str, int], let_through: Sequence[str], storage_uri: str
) -> dict[BatchCondition, Mark] | None:
    """The conditions of a batch whose gate accepted a known bad program; None if it accepted none.

    figures: see spade_contracts.canaries. let_through: names of the accepted ones, as far as they are known.
    """
    wrong = false_accepts(figures)
    if not wrong:
        return None
    named = f" ({', '.join(let_through)})" if let_through else ""
    text = (
        f"The gate accepted {wrong} of {figures.get(BAD, wrong)} programs that are known to be bad{named}, so no "
        f"verdict of this batch can be believed and none of its programs is admitted. What it saw is in "
        f"{storage_uri}/canaries-*.parquet. Install worker and sandbox images whose gate rejects them."
    )
    return {
        BatchCondition.VERIFIED: (ConditionStatus.FALSE, Reason.GATE_FALSE_ACCEPT, text),
        BatchCondition.FAILED: (ConditionStatus.TRUE, Reason.GATE_FALSE_ACCEPT, text),
    }
