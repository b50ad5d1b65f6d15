"""`spade verify PROGRAMS...`: the gate on files of any origin, in a sandbox that this machine runs for the occasion."""

import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from spade_contracts.base import Document
from spade_contracts.config import SandboxLimits, VerificationSettings
from spade_contracts.config.environments import Domain
from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_contracts.tasks import JUDGE_KEY
from spade_contracts.verdicts import without_solution
from spade_contracts.wrong_input import below, wrong_input
from spade_sandbox.local import (
    Backend,
    Judged,
    Task,
    find_programs,
    json_record,
    judge_files,
    local_pool,
    write_parquet,
)
from spade_sandbox.local.judging import SESSIONS_PER_PROGRAM
from spade_sandbox.local.records import printable_path
from spade_sandbox.verify import GateContext
from spade_sandbox.verify.judge import judge_of

ALL_ACCEPTED, REJECTED, USAGE, UNJUDGED = 0, 1, 2, 3
"""Exit codes. UNJUDGED: no back-end works, or the infrastructure failed under a program."""
MAX_LINE_CHARACTERS = 300
PLACES = {Backend.DOCKER: "gVisor (docker)", Backend.RUNSC: "gVisor (runsc)", Backend.CELLS: "cells WITHOUT gVisor"}

Say = Callable[[str], None]


class VerifyFile(Document):
    """The file of `--settings`: the same fields as in a SpadeRun."""

    verification: VerificationSettings = VerificationSettings()
    """As `spec.environments.verification`."""
    limits: SandboxLimits = Field(default_factory=SandboxLimits)
    """As `spec.sandbox.limits`."""


@dataclass(frozen=True)
class Wanted:
    """What the user asks for."""

    paths: tuple[str, ...]
    domain: Domain
    as_json: bool
    jobs: int
    backend: Backend | None
    out: Path | None
    settings: VerifyFile


def domain_of(word: str) -> Domain:
    """The domain that a word of the command line means. Raises InvalidInput."""
    for domain in Domain:
        if word.lower() == domain.value.lower():
            return domain
    known = ", ".join(domain.value.lower() for domain in Domain)
    raise InvalidInput("--domain", f"{word!r} is no domain", remedy=f"Write one of {known}.")


def backend_of(word: str | None) -> Backend | None:
    """The back-end that a word of the command line means. Raises InvalidInput."""
    if word is None:
        return None
    try:
        return Backend(word.lower())
    except ValueError as error:
        known = ", ".join(backend.value for backend in Backend)
        raise InvalidInput("--backend", f"{word!r} is no back-end", remedy=f"Write one of {known}.") from error


def read_settings(path: str | None) -> VerifyFile:
    """The settings file, or the defaults. Raises InvalidInput with what is wrong.

    The file is a VerifyFile, the `run.json` of a run, or what `spade check --render` prints of one.
    """
    if path is None:
        return VerifyFile()
    try:
        return VerifyFile.model_validate(_of_run(yaml.safe_load(Path(path).read_text("utf-8")) or {}))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidInput(path, f"cannot be read as YAML: {error}") from error
    except ValidationError as error:
        raise wrong_input(error, VerifyFile, below(path)) from error


def _of_run(data: object) -> object:
    """The settings of verification among all those of a run; anything else as it is."""
    method = data.get("method", data) if isinstance(data, dict) else None
    environments = method.get("environments") if isinstance(method, dict) else None
    if not isinstance(method, dict) or not isinstance(environments, dict):
        return data
    return {"verification": environments.get("verification", {}), "limits": method.get("limits", {})}


def checked_out(path: str | None) -> Path | None:
    """Where verdicts go as Parquet. Raises InvalidInput now rather than after the work."""
    if path is None:
        return None
    out = Path(path)
    if out.is_dir() or not out.parent.is_dir() or not os.access(out.parent, os.W_OK):
        raise InvalidInput("--out", f"{path} cannot be written", remedy="Name a file in a folder that exists.")
    return out


async def verify(wanted: Wanted, say: Say, warn: Say) -> int:
    """Judge all programs and tell; returns the exit code. `say` gets the results, `warn` everything else."""
    programs = find_programs(wanted.paths)
    if not programs:
        raise InvalidInput("PROGRAMS", f"there is no *.py below {', '.join(wanted.paths)}")
    verdicts: list[Judged] = []
    try:
        backend = await _judge_all(wanted, programs, verdicts, say, warn)
    except InfrastructureFault as error:
        warn(f"error: {error}")
        warn(f"{len(programs) - len(verdicts)} of {len(programs)} programs were not judged.")
        _write(wanted, verdicts, say)
        return UNJUDGED
    _write(wanted, verdicts, say)
    (warn if wanted.as_json else say)(summary(verdicts, backend))
    return exit_code(verdicts)


async def _judge_all(wanted: Wanted, programs: Sequence[str], verdicts: list[Judged], say: Say, warn: Say) -> Backend:
    capacity = wanted.jobs * SESSIONS_PER_PROGRAM
    async with (
        local_pool(wanted.backend, capacity=capacity, warn=lambda text: warn(f"warning: {text}")) as (pool, pod),
        judge_of(wanted.settings.verification, os.environ.get(JUDGE_KEY)) as judge,
    ):
        task = Task(wanted.domain, wanted.settings.limits, wanted.settings.verification, GateContext(judge=judge))
        async with contextlib.aclosing(judge_files(programs, pool, task, wanted.jobs)) as judging:
            async for judged in judging:
                verdicts.append(judged)
                if not wanted.as_json:
                    say(line(judged))
        if pod.restarts:
            warn(f"warning: the sandbox pod broke {pod.restarts} times and was started anew.")
        return pod.backend


def line(judged: Judged) -> str:
    """One program's line: what it is, which, and why."""
    verdict = judged.verdict
    path = visible(printable_path(judged.path))
    if verdict.accepted:
        return f"accepted    {path}"
    word = "rejected  " if judged.judged else "NOT JUDGED"
    reason = verdict.reason.value if verdict.reason else "no reason"
    said = visible(verdict.message)
    shown = said if len(said) <= MAX_LINE_CHARACTERS else f"{said[:MAX_LINE_CHARACTERS]}…"
    return f"{word}  {path}: {verdict.stage.value}/{reason}: {shown}"


def summary(verdicts: Sequence[Judged], backend: Backend) -> str:
    """The last line: counts, and rejections by stage and reason."""
    accepted = sum(judged.verdict.accepted for judged in verdicts)
    unjudged = sum(not judged.judged for judged in verdicts)
    why = Counter(
        f"{judged.verdict.stage.value}/{judged.verdict.reason.value}"
        for judged in verdicts
        if judged.judged and judged.verdict.reason is not None
    )
    counted = ", ".join(f"{reason} {count}" for reason, count in sorted(why.items(), key=lambda one: (-one[1], one[0])))
    rejected = f"{len(verdicts) - accepted - unjudged} rejected" + (f" ({counted})" if counted else "")
    blind = sum(judged.verdict.accepted and without_solution(judged.verdict.facts) for judged in verdicts)
    without = f" ({blind} without a solution that can be replayed)" if blind else ""
    missing = f", {unjudged} NOT JUDGED because sandboxes failed" if unjudged else ""
    programs = "1 program" if len(verdicts) == 1 else f"{len(verdicts)} programs"
    return f"{programs} in {PLACES[backend]}: {accepted} accepted{without}, {rejected}{missing}."


def exit_code(verdicts: Sequence[Judged]) -> int:
    """What the command ends with. A program that was not judged weighs more than one that was rejected."""
    if any(not judged.judged for judged in verdicts):
        return UNJUDGED
    return ALL_ACCEPTED if all(judged.verdict.accepted for judged in verdicts) else REJECTED


def visible(text: str) -> str:
    """A text on one line of a terminal: whatever is not printable is written as its escape."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _write(wanted: Wanted, verdicts: Sequence[Judged], say: Say) -> None:
    """JSON and Parquet of what was judged, also when the rest could not be."""
    if wanted.as_json:
        records: list[dict[str, Any]] = [json_record(judged) for judged in verdicts]
        say(json.dumps(records, indent=1))
    if wanted.out is not None:
        write_parquet(wanted.out, verdicts)


def to_stdout(text: str) -> None:
    """One line of results."""
    print(text, flush=True)


def to_stderr(text: str) -> None:
    """One line beside the results."""
    print(text, file=sys.stderr, flush=True)
