"""NetworkPolicy events: keep the fact, ask for a pass. Nothing is decided here."""

from typing import Any

import kopf

from spade_contracts.labels import RUN
from spade_operator.handlers.memory import Memory, note
from spade_operator.records import Kind


@kopf.on.event("networking.k8s.io", "v1", "networkpolicies", labels={RUN: kopf.PRESENT})
async def network_policy_changed(event: kopf.RawEvent, memo: Memory, **_: Any) -> None:
    """Remember, or forget, one NetworkPolicy."""
    note(memo, Kind.NETWORK_POLICY, event)
