"""Whether the installation lets a run out to what it must reach."""

from collections.abc import Iterator

from spade_operator.preflight.findings import Finding, Level, joined
from spade_operator.preflight.outside import REMEDY
from spade_operator.preflight.plan import Plan
from spade_operator.preflight.surroundings import Surroundings

EGRESS = "egress"


def check_egress(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Whether anything is let out at all. Which addresses a name stands for is not known here."""
    if not plan.outside:
        return
    words = joined(plan.outside, 6)
    if plan.closed:
        message = f"The run must reach {words}, but the installation lets runs reach nothing outside."
        yield Finding(Level.WARNING, EGRESS, message, REMEDY)
        return
    message = f"Whether egress.cidrs and egress.pods of the chart's values let the run reach {words} is not known."
    yield Finding(Level.UNKNOWN, EGRESS, message)
