"""What every handler needs, and the one thing that every handler does."""

import logging
from dataclasses import dataclass
from typing import Any

from spade_contracts.errors import InvalidInput
from spade_operator.facts import Facts
from spade_operator.keys import Key, child_keys, keys_of, run_key
from spade_operator.kube_config import Connection
from spade_operator.openings import opening_of
from spade_operator.polling import Word
from spade_operator.queue import WorkQueue
from spade_operator.records import Kind, PodRecord

GATHER_SECONDS = 5.0
log = logging.getLogger("spade.handlers")


@dataclass(frozen=True)
class Memory:
    """kopf's memo: the store, the queue, and how to reach the API server."""

    facts: Facts
    queue: WorkQueue[Key]
    connection: Connection


def note_opening(memory: Memory, event: Any) -> None:
    """Keep, or forget, what a NetworkPolicy lets out, and queue every family of its namespace if that is new."""
    policy = event["object"]
    namespace, name = policy["metadata"]["namespace"], policy["metadata"]["name"]
    opening = None if event["type"] == "DELETED" else opening_of(policy)
    if memory.facts.set_opening(namespace, name, opening):
        for family in memory.facts.families():
            if family[0] == namespace:
                memory.queue.add(run_key(*family))


def note(memory: Memory, kind: Kind, event: Any) -> None:
    """Keep, or forget, the object of a watch event, and queue whoever must look."""
    try:
        record = memory.facts.read(kind, event["object"])
    except InvalidInput as error:
        log.error("%s", error)
        return
    if event["type"] == "DELETED":
        memory.facts.forget(record)
    elif not memory.facts.put(record):
        return
    for key in keys_of(record):
        memory.queue.add(key)
    if kind is Kind.RUN:
        for key in child_keys(memory.facts, run_key(record.meta.namespace, record.meta.name)):
            memory.queue.add(key)


def hear(queue: WorkQueue[Key], pod: PodRecord, word: Word) -> None:
    """Queue whoever must look at what a pod said.

    Admitted pods that speak for the first time belong to an operator that has just started. Thousands do so, and one
    pass sees the words of many.
    """
    for key in keys_of(pod):
        if word is Word.FIRST and pod.admitted_boot:
            queue.add_after(key, GATHER_SECONDS)
        else:
            queue.add(key)
