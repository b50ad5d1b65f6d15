"""Job events: keep the fact, ask for a pass. Nothing is decided here."""

from typing import Any

import kopf

from spade_contracts.labels import RUN
from spade_operator.handlers.memory import Memory, note
from spade_operator.records import Kind


@kopf.on.event("batch", "v1", "jobs", labels={RUN: kopf.PRESENT})
async def job_changed(event: kopf.RawEvent, memo: Memory, **_: Any) -> None:
    """Remember, or forget, one Job."""
    note(memo, Kind.JOB, event)
