"""Keys of the work queue: which object wants a pass when something about another changed."""

from collections.abc import Iterator
from dataclasses import dataclass

from spade_operator.children.names import batch_of, env_batch_name, rollout_job_name
from spade_operator.facts import Facts
from spade_operator.records import BatchRecord, Kind, Record, RolloutRecord, RunRecord

ENDS = ("Complete", "Failed")


@dataclass(frozen=True)
class Key:
    """An object of ours that gets passes, and the family that it belongs to."""

    kind: Kind
    namespace: str
    name: str
    run: str

    @property
    def alone(self) -> bool:
        """Whether it is a stand-alone EnvBatch."""
        return self.kind is Kind.BATCH and batch_of(self.run) == self.name

    @property
    def of_unit(self) -> bool:
        """Whether it is an EnvBatch or RolloutJob of a run: its end is what the run waits for."""
        return self.kind is not Kind.RUN and not self.alone


def run_key(namespace: str, run: str) -> Key:
    """The key of a family's head: the run, or the stand-alone EnvBatch."""
    batch = batch_of(run)
    return Key(Kind.BATCH, namespace, batch, run) if batch else Key(Kind.RUN, namespace, run, run)


def keys_of(record: Record) -> Iterator[Key]:
    """Who must look when this record changed: its family's head, and the unit of a run whose work it is."""
    meta = record.meta
    head = run_key(meta.namespace, meta.run)
    yield head
    if head.alone:
        return
    if meta.kind in (Kind.BATCH, Kind.ROLLOUT):
        yield Key(meta.kind, meta.namespace, meta.name, meta.run)
    elif meta.kind in (Kind.POD, Kind.JOB) and meta.rollout is not None:
        yield Key(Kind.ROLLOUT, meta.namespace, rollout_job_name(meta.run, meta.rollout), meta.run)
    elif meta.kind in (Kind.POD, Kind.JOB) and meta.cycle is not None:
        yield Key(Kind.BATCH, meta.namespace, env_batch_name(meta.run, meta.cycle, meta.topup), meta.run)


def child_keys(facts: Facts, run: Key) -> Iterator[Key]:
    """EnvBatches and RolloutJobs of a run that are not finished: what the run's conditions hold back."""
    for record in facts.family(run.namespace, run.name):
        if isinstance(record, BatchRecord | RolloutRecord) and not is_finished(record):
            yield Key(record.meta.kind, record.meta.namespace, record.meta.name, record.meta.run)


def is_finished(record: RunRecord | BatchRecord | RolloutRecord) -> bool:
    """Whether nothing is left to do for it."""
    return any(c.type in ENDS and c.status == "True" for c in record.status.conditions)
