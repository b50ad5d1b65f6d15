"""What a run asked of OpenAI-compatible endpoints and what that cost: totals over its cycles."""

from decimal import Decimal
from typing import Any

from spade_contracts.resources import EnvBatchStatus, SpadeRunStatus


def cost_text(cost: float | Decimal) -> str:
    """A cost as status has it: a decimal with six digits, in the currency of the prices."""
    return f"{cost:.6f}"


def with_spending(status: SpadeRunStatus, batch: EnvBatchStatus | None) -> dict[str, Any]:
    """The run's totals with those of a cycle, or of a top-up."""
    return _moved(status.endpoint_requests, status.endpoint_cost, batch, 1)


def without_spending(spent: dict[str, Any], batch: EnvBatchStatus) -> dict[str, Any]:
    """The totals without a cycle's, where a worker that tries again adopts its designs and tells of them again."""
    return _moved(spent["endpoint_requests"], spent["endpoint_cost"], batch, -1)


def _moved(requests: int, cost: str | None, batch: EnvBatchStatus | None, sign: int) -> dict[str, Any]:
    if batch is None or not batch.endpoint_requests:
        return {"endpoint_requests": requests, "endpoint_cost": cost}
    total = Decimal(cost or 0) + sign * Decimal(batch.endpoint_cost or 0)
    return {
        "endpoint_requests": max(0, requests + sign * batch.endpoint_requests),
        "endpoint_cost": cost_text(max(Decimal(0), total)),
    }
