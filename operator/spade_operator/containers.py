"""What we keep of one container of a pod: how it goes, how it ended, and what that is to be measured by."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Raw = Mapping[str, Any]
"""An object as the API server tells it."""


@dataclass(frozen=True)
class ContainerRecord:
    """One container of a pod, as the kubelet tells."""

    name: str
    restarts: int = 0
    waiting_reason: str = ""
    waiting_message: str = ""
    exit_code: int | None = None
    """Of the container that ended and was not started again."""
    ended_reason: str = ""
    ended_message: str = ""
    """Its termination message."""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    last_exit_code: int | None = None
    """Of the container before this one."""
    last_reason: str = ""
    last_message: str = ""
    last_seconds: float | None = None
    """How long it ran."""
    memory_limit: str = ""
    startup_seconds: int = 0
    """How long its startup probe may fail; 0: it has none."""
    liveness_seconds: int = 0
    """The same of its liveness probe."""


def container_record(raw: Raw, wanted: Raw) -> ContainerRecord:
    """What the kubelet says of a container, and what its pod wants of it."""
    state: Raw = raw.get("state") or {}
    waiting: Raw = state.get("waiting") or {}
    ended: Raw = state.get("terminated") or {}
    last: Raw = (raw.get("lastState") or {}).get("terminated") or {}
    begun: Raw = state.get("running") or ended
    limits: Raw = (wanted.get("resources") or {}).get("limits") or {}
    ran = moment(last.get("startedAt")), moment(last.get("finishedAt"))
    return ContainerRecord(
        name=raw.get("name", ""),
        restarts=int(raw.get("restartCount", 0)),
        waiting_reason=waiting.get("reason", ""),
        waiting_message=waiting.get("message", "")[:500],
        exit_code=ended.get("exitCode"),
        ended_reason=ended.get("reason", ""),
        ended_message=ended.get("message", ""),
        started_at=moment(begun.get("startedAt")),
        finished_at=moment(ended.get("finishedAt")),
        last_exit_code=last.get("exitCode"),
        last_reason=last.get("reason", ""),
        last_message=last.get("message", "")[:2048],
        last_seconds=(ran[1] - ran[0]).total_seconds() if ran[0] and ran[1] else None,
        memory_limit=sys.intern(str(limits.get("memory", ""))),
        startup_seconds=_patience(wanted.get("startupProbe")),
        liveness_seconds=_patience(wanted.get("livenessProbe")),
    )


def _patience(probe: Raw | None) -> int:
    """Seconds that a probe may fail before the kubelet acts; Kubernetes' defaults for what is left out."""
    return int(probe.get("periodSeconds", 10)) * int(probe.get("failureThreshold", 3)) if probe else 0


def moment(text: str | None) -> datetime | None:
    """A time of the API; None for none."""
    return datetime.fromisoformat(text) if text else None
