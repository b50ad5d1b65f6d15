"""RolloutJob events: keep the fact, ask for a pass. Nothing is decided here."""

from typing import Any

import kopf

from spade_contracts.labels import GROUP, VERSION
from spade_operator.handlers.memory import Memory, note
from spade_operator.records import Kind


@kopf.on.event(GROUP, VERSION, "rolloutjobs")
async def rollout_job_changed(event: kopf.RawEvent, memo: Memory, **_: Any) -> None:
    """Remember, or forget, one RolloutJob."""
    note(memo, Kind.ROLLOUT, event)
