"""Follow a run until it ends: one line of what is happening now, a line of history for each change."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from spade_cli.cluster import LiveView, Run, get_run, live_view
from spade_contracts.errors import InfrastructureFault
from spade_contracts.resources import Condition, ConditionStatus, Reason, RunCondition, SpadeRunStatus

POLL_SECONDS = 1.0
PATIENCE_SECONDS = 120.0
REFUSAL_PATIENCE_SECONDS = 60.0
"""How long one refusal that can pass by itself must stand: nodes come, policies arrive, pods are probed again."""
PASSING = frozenset({
    Reason.PREPARING, Reason.PROBING, Reason.STARTING, Reason.WAITING, Reason.RESTARTING, Reason.QUEUED,
})  # fmt: skip
"""On the way, so no refusal."""
LASTING = frozenset({
    Reason.INVALID_SPEC, Reason.NOT_SUPPORTED, Reason.MODEL_NOT_FOUND, Reason.MODEL_NOT_MOE, Reason.MODEL_UNSUPPORTED,
    Reason.CORPUS_NOT_FOUND, Reason.CORPUS_INVALID, Reason.POOL_NOT_FOUND, Reason.POOL_CHANGED,
    Reason.STORAGE_CONFLICT, Reason.STORAGE_UNAVAILABLE, Reason.JOB_FAILED,
})  # fmt: skip
"""Nothing heals these but the user: another spec, or another retry."""


def condition(status: SpadeRunStatus, kind: RunCondition) -> tuple[bool, str, str]:
    """Whether the condition is True, its reason and message; (False, '', '') when it is absent."""
    for found in status.conditions:
        if found.type == kind:
            return found.status is ConditionStatus.TRUE, found.reason, found.message
    return False, "", ""


def ended(run: Run) -> bool:
    """Whether status is of the present spec and says Complete or Failed."""
    if run.status.observed_generation < run.generation:
        return False
    return any(condition(run.status, kind)[0] for kind in (RunCondition.COMPLETE, RunCondition.FAILED))


def refusal(run: Run) -> Condition | None:
    """The condition that keeps the run from starting; of the present spec only."""
    if run.status.observed_generation < run.generation or condition(run.status, RunCondition.SUSPENDED)[0]:
        return None
    for kind in (RunCondition.ACCEPTED, RunCondition.ISOLATED):
        for found in run.status.conditions:
            if found.type == kind and found.status is ConditionStatus.FALSE and found.reason not in PASSING:
                return found
    return None


def refused(run: Run) -> str:
    """Why the run cannot start, or ''."""
    found = refusal(run)
    return f"{found.type}=False, {found.reason}: {found.message}" if found is not None else ""


@dataclass(frozen=True)
class Refusal:
    """One refusal, by condition and reason: its message names pods, and a fresh pod may be refused like the last."""

    what: tuple[str, str]
    since: float


def standing(before: Refusal | None, run: Run, now: float) -> Refusal | None:
    """The refusal at this moment, with the time since when it is the same."""
    found = refusal(run)
    if found is None:
        return None
    what = (found.type, found.reason)
    return before if before is not None and before.what == what else Refusal(what, now)


def hopeless(held_by: Refusal | None, now: float) -> bool:
    """Whether waiting on is of no use."""
    if held_by is None:
        return False
    return held_by.what[1] in LASTING or now - held_by.since >= REFUSAL_PATIENCE_SECONDS


def progress_line(run: Run, live: LiveView | None) -> str:
    """What is happening now, in one line."""
    status = run.status
    rollout = live.rollout if live else status.rollout
    cycle = live.cycle if live else status.cycle
    doing = (live.doing if live and live.doing else status.doing) or str(status.phase)
    done = min(rollout, run.spec.rollouts)
    parts = [f"{done} of {run.spec.rollouts} rollouts done", f"cycle {cycle}", doing]
    if live and live.episodes_planned:
        parts.append(f"episodes {live.episodes_done or 0}/{live.episodes_planned}")
    parts.append(f"learnable {status.learnable_fraction or '-'}")
    if status.endpoint_requests:
        parts.append(f"endpoints {status.endpoint_requests} requests, cost {status.endpoint_cost or '-'}")
    return " | ".join(parts)


def follow(
    api: Any,
    namespace: str,
    name: str,
    *,
    operator_namespace: str,
    timeout_seconds: float,
    console: Console,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Run:
    """Show progress until the run ends, is refused, or the time is up; returns the run as seen last.

    A refusal that can pass by itself is waited for, up to REFUSAL_PATIENCE_SECONDS.
    A silent API server is waited for, up to PATIENCE_SECONDS. Raises InfrastructureFault beyond that.
    """
    start = clock()
    last_line, silent_since = "", None
    held_by: Refusal | None = None
    with console.status("waiting for the run") as spinner:
        while True:
            try:
                run = get_run(api, namespace, name)
                silent_since = None
            except InfrastructureFault:
                silent_since = silent_since if silent_since is not None else clock()
                if clock() - silent_since > PATIENCE_SECONDS:
                    raise
                pause(POLL_SECONDS)
                continue
            line = progress_line(run, live_view(api, operator_namespace, run))
            spinner.update(Text(line))
            if line != last_line and not console.is_terminal:
                console.print(f"{clock() - start:6.0f} s  {line}", soft_wrap=True, highlight=False)
            last_line = line
            now = clock()
            held_by = standing(held_by, run, now)
            if ended(run) or hopeless(held_by, now) or now - start > timeout_seconds:
                return run
            pause(POLL_SECONDS)
