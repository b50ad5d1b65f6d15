"""Deployment events: keep the fact, ask for a pass. Nothing is decided here."""

from typing import Any

import kopf

from spade_contracts.labels import RUN
from spade_operator.handlers.memory import Memory, note
from spade_operator.records import Kind


@kopf.on.event("apps", "v1", "deployments", labels={RUN: kopf.PRESENT})
async def deployment_changed(event: kopf.RawEvent, memo: Memory, **_: Any) -> None:
    """Remember, or forget, one Deployment."""
    note(memo, Kind.DEPLOYMENT, event)
