"""Verdicts on existing programs as Parquet: one row a program, one part file a chunk, one file and manifest at the end.

A verification's folder is named for the digest of all that decides its verdicts, so programs that have changed are
another verification, and the same ones are never judged twice.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any

from spade_contracts.manifests import ProgramEntry, VerificationManifest
from spade_contracts.statuses import ScoreDistribution
from spade_contracts.tasks import VerifyTask
from spade_contracts.verdicts import Verdict, without_solution
from spade_trainer.store import layout
from spade_trainer.store.canaries import unsound_attempt
from spade_trainer.store.designs import evidence_text, facts_text
from spade_trainer.store.episodes import parquet_bytes, parquet_groups, parquet_rows
from spade_trainer.store.objects import Store, create, create_same, names, read_bytes
from spade_trainer.store.programs import ProgramFile

if TYPE_CHECKING:
    import pyarrow as pa

MUTATION_SCORE = "mutation_score"
"""The fact that holds a program's score."""


@dataclass(frozen=True)
class Judged:
    """One program and the gate's word on it."""

    name: str
    program: str
    """As repaired and judged; empty where nothing could be run."""
    program_sha256: str
    """Of the file as it was found."""
    accepted: bool
    stage: str
    reason: str
    """Empty if accepted."""
    message: str
    evidence: str
    """JSON, a list of traces."""
    facts: str
    """A JSON object, timings left out."""

    @property
    def mutation_score(self) -> float | None:
        """Share of mutants that the controls tell from the program; None where it was not measured."""
        value = json.loads(self.facts).get(MUTATION_SCORE)
        return float(value) if isinstance(value, int | float) else None


def judged(program: ProgramFile, source: str | None, verdict: Verdict) -> Judged:
    """The row of a verdict."""
    return Judged(
        name=program.name,
        program=source or "",
        program_sha256=hashlib.sha256(program.content).hexdigest(),
        accepted=verdict.accepted,
        stage=verdict.stage.value,
        reason=verdict.reason.value if verdict.reason else "",
        message=verdict.message,
        evidence=evidence_text(verdict.evidence),
        facts=facts_text(verdict.facts),
    )


def digest(task: VerifyTask, programs: Sequence[ProgramFile]) -> str:
    """SHA-256 over all that decides the verdicts: the gate, settings, limits, and each program's name and content."""
    terms = task.model_dump_json(include={"programs_uri", "domain", "settings", "limits"})
    whole = hashlib.sha256(f"{_gate_digest()} {terms}".encode())
    for program in programs:
        whole.update(b"\0" + program.name.encode() + b"\0" + hashlib.sha256(program.content).digest())
    return whole.hexdigest()


def _gate_digest() -> str:
    """A newer gate is asked again, whatever an older one said."""
    modules = [module for module in files("spade_sandbox.verify").iterdir() if module.name.endswith(".py")]
    whole = hashlib.sha256()
    for module in sorted(modules, key=lambda module: module.name):
        whole.update(module.name.encode() + b"\0" + module.read_bytes() + b"\0")
    return whole.hexdigest()


def columns() -> "pa.Schema":
    """The Parquet schema."""
    import pyarrow as pa

    texts = ("name", "program", "program_sha256", "stage", "reason", "message", "evidence", "facts")
    return pa.schema([*((name, pa.string()) for name in texts), ("accepted", pa.bool_())])


def write_part(store: Store, folder: str, chunk: int, attempt: int, rows: Sequence[Judged]) -> None:
    """Create one chunk's part; a part that is there already stays."""
    content = parquet_bytes((asdict(row) for row in rows), columns())
    create(store, f"{folder}/{layout.judged_part(chunk, attempt)}", content)


def finished_parts(store: Store, folder: str) -> dict[int, str]:
    """Part files by chunk; of several attempts the earliest counts, after the last whose gate was unsound."""
    parts: dict[int, str] = {}
    unsound = unsound_attempt(store, folder)
    for name in names(store, folder):
        if name.startswith("judged-s") and layout.part_attempt(name) > unsound:
            parts.setdefault(layout.part_slot(name), name)
    return parts


def read_part(store: Store, folder: str, name: str) -> tuple[Judged, ...]:
    """The verdicts in one part, or in the file that a manifest names, by the programs' order."""
    return tuple(Judged(**row) for row in parquet_rows(read_bytes(store, f"{folder}/{name}")))


def compose(  # noqa: PLR0917  # one caller
    store: Store,
    folder: str,
    task: VerifyTask,
    chunks: int,
    canaries: dict[str, int],
    diversity: Callable[[Sequence[str]], float | None],
) -> VerificationManifest:
    """Write all parts as one file, a part at a time; return the manifest, still to be written.

    canaries: the gate's error on known programs. `diversity` is given the accepted programs. KeyError if a chunk's part
    is missing: wait for all.
    """
    parts = finished_parts(store, folder)
    sums = _Sums()
    content = parquet_groups((sums.taken(read_part(store, folder, parts[chunk])) for chunk in range(chunks)), columns())
    verdicts = layout.verdicts_file(hashlib.sha256(content).hexdigest())
    create_same(store, f"{folder}/{verdicts}", content)
    return VerificationManifest(
        programs_uri=task.programs_uri,
        domain=task.domain,
        settings=task.settings,
        limits=task.limits,
        programs=sums.programs,
        accepted=tuple(sums.accepted),
        rejected=dict(sorted(sums.rejected.items())),
        without_solution=sums.without_solution,
        mutation_scores=distribution(sums.scores),
        diversity=diversity(sums.sources),
        canaries=canaries,
        verdicts=verdicts,
    )


@dataclass
class _Sums:
    """What a manifest says of the rows that went by."""

    programs: int = 0
    accepted: list[ProgramEntry] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    without_solution: int = 0
    scores: list[float] = field(default_factory=list)

    def taken(self, rows: Sequence[Judged]) -> list[dict[str, Any]]:
        """The rows by column, counted."""
        for row in rows:
            self.programs += 1
            if row.accepted:
                self.accepted.append(ProgramEntry(name=row.name, sha256=row.program_sha256))
                self.sources.append(row.program)
                self.without_solution += without_solution(json.loads(row.facts))
            else:
                self.rejected[f"{row.stage}/{row.reason}"] += 1
            if (score := row.mutation_score) is not None:
                self.scores.append(score)
        return [asdict(row) for row in rows]


def distribution(scores: Sequence[float]) -> ScoreDistribution | None:
    """Mean and quartiles of scores; None without any."""
    if not scores:
        return None
    known = sorted(scores)
    lower, median, upper = quantiles(known, n=4, method="inclusive") if len(known) > 1 else known * 3
    return ScoreDistribution(
        programs=len(known),
        mean=fmean(known),
        minimum=known[0],
        lower_quartile=lower,
        median=median,
        upper_quartile=upper,
        maximum=known[-1],
    )
