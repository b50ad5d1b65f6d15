"""NetworkPolicy events, of everybody's: keep the fact, ask for a pass. Nothing is decided here."""

from typing import Any

import kopf

from spade_contracts.labels import RUN
from spade_operator.handlers.memory import Memory, note, note_opening
from spade_operator.records import Kind


@kopf.on.event("networking.k8s.io", "v1", "networkpolicies")
async def network_policy_changed(event: kopf.RawEvent, memo: Memory, **_: Any) -> None:
    """Remember, or forget, one NetworkPolicy."""
    policy: Any = event["object"]
    if RUN in (policy["metadata"].get("labels") or {}):
        note(memo, Kind.NETWORK_POLICY, event)
    note_opening(memo, event)
