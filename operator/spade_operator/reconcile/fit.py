"""No status grows beyond what lists, watches and people can bear: what matters least is told shortly.

Only extreme statuses are touched. In this order: long messages, figures of older rollouts, baselines of few rollouts,
rare reasons of rejections, whose counts are added up as `other`, what is left of messages, and the end of what is
happening now.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from spade_contracts.resources import EnvBatchStatus, RolloutJobStatus, SpadeRunStatus

MAX_STATUS_BYTES = 8000
MESSAGE_BYTES = (1200, 600, 300, 150, 80)
"""Each tried for all messages before anything else is taken."""
LAST_MESSAGE_BYTES = 20
"""What is left of messages when nothing else could be taken."""
ELLIPSIS = "…"
OTHER = "other"
MAX_DOING = 60
"""Characters of what is happening now, when nothing else can be taken."""
MAX_TRACKED = 12
"""Pods of a role that a status names, at most."""

Status = TypeVar("Status", SpadeRunStatus, EnvBatchStatus, RolloutJobStatus)


def size(status: SpadeRunStatus | EnvBatchStatus | RolloutJobStatus) -> int:
    """Bytes of the status as JSON."""
    return len(status.model_dump_json(by_alias=True, exclude_none=True).encode())


def fitted(status: Status) -> Status:
    """The status, shortened until it is small enough."""
    for limit in MESSAGE_BYTES:
        if size(status) <= MAX_STATUS_BYTES:
            return status
        status = _with_messages(status, limit)
    for name, take in TAKE.items():
        while size(status) > MAX_STATUS_BYTES and len(before := getattr(status, name, ())) > 1:
            less = take(before)
            if len(less) == len(before):
                break
            status = status.model_copy(update={name: less})
    if size(status) > MAX_STATUS_BYTES:
        status = _with_messages(status, LAST_MESSAGE_BYTES)
    doing = getattr(status, "doing", "")
    if size(status) > MAX_STATUS_BYTES and len(doing) > MAX_DOING:
        status = status.model_copy(update={"doing": doing[:MAX_DOING]})
    return status


def tracked(restarts: Mapping[str, int]) -> dict[str, int]:
    """Pods that a status names: pod name → restarts; of many those with most."""
    most = sorted(restarts, key=lambda name: (-restarts[name], name))[:MAX_TRACKED]
    return {name: restarts[name] for name in sorted(most)}


def comparable(before: Mapping[str, int], present: Mapping[str, int]) -> Mapping[str, int]:
    """Those of the present pods whose restarts since `tracked` gave `before` are known.

    Of few pods all. A pod that many others kept out of it may have been counted or not: the doubt is in favour of the
    run, once for each pod.
    """
    return present if len(before) < MAX_TRACKED else {name: present[name] for name in before if name in present}


def shortened(text: str, limit: int) -> str:
    """The text cut to so many bytes of JSON."""
    if _encoded(text) <= limit:
        return text
    low, high = 0, min(len(text), limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _encoded(text[:middle]) <= limit - len(ELLIPSIS.encode()) else (low, middle - 1)
    return text[:low] + ELLIPSIS


def _encoded(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def _with_messages(status: Status, limit: int) -> Status:
    cut = (c.model_copy(update={"message": shortened(c.message, limit)}) for c in status.conditions)
    return status.model_copy(update={"conditions": tuple(cut)})


def _without_oldest(rollouts: tuple[Any, ...]) -> tuple[Any, ...]:
    return rollouts[1:]


def _without_least_known(baselines: Mapping[str, Any]) -> dict[str, Any]:
    least = min(baselines, key=lambda skills: (baselines[skills].rollouts, skills))
    return {skills: known for skills, known in baselines.items() if skills != least}


def _without_rarest(counts: Mapping[str, int]) -> dict[str, int]:
    """The two rarest reasons become one."""
    named = sorted((key for key in counts if "/" in key), key=lambda key: (counts[key], key))[:2]
    if len(named) < 2 and OTHER not in counts:
        return dict(counts)
    kept = {key: number for key, number in counts.items() if key not in named and key != OTHER}
    return kept | {OTHER: counts.get(OTHER, 0) + sum(counts[key] for key in named)}


TAKE: Mapping[str, Callable[[Any], Any]] = {
    "rollouts": _without_oldest,
    "learnable_baselines": _without_least_known,
    "environments": _without_rarest,
    "rejected": _without_rarest,
}
"""Field → what takes one entry of it away."""
