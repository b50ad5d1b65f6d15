"""What somebody else changed in a child is applied again, once, and status writes are no change."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p
from tests.unit.operator.test_act import Server, hands

from spade_contracts.labels import HASH_ANNOTATION
from spade_operator.kube import Object
from spade_operator.reconcile.act import Hands, act
from spade_operator.reconcile.observe import observe
from spade_operator.reconcile.steps import Action, Apply
from spade_operator.records import Kind, Record

NAME = "mini-closed"


def manifest(kind: Kind) -> Object:
    labels = {"spade.dev/run": p.RUN, "spade.dev/run-uid": p.UID, "spade.dev/role": "engine"}
    meta = {"name": NAME, "namespace": "default", "labels": labels, "annotations": {HASH_ANNOTATION: "digest"}}
    return {"kind": str(kind), "metadata": meta}


class Versioned(Server):
    """Kinds with a generation get one."""

    def _stored(self, what: Object) -> Object:
        whole = super()._stored(what)
        number = {} if what["kind"] in (Kind.SECRET, Kind.SERVICE) else {"generation": 3}
        return {**whole, "metadata": whole["metadata"] | number}


def known(able: Hands) -> Record:
    (record,) = (r for r in able.facts.family("default", p.RUN) if r.meta.name == NAME)
    return record


def wants(able: Hands, kind: Kind) -> tuple[Action, ...]:
    able.facts.put(p.run_record())
    seen = observe(able.facts, p.SITE, "default", p.RUN)
    assert seen is not None
    return seen.changed([manifest(kind)])


@pytest.mark.parametrize("kind", [Kind.NETWORK_POLICY, Kind.DEPLOYMENT, Kind.SECRET, Kind.SERVICE])
def test_child_that_others_changed_is_applied_once_more(kind: Kind) -> None:
    able = hands(Versioned())
    assert wants(able, kind) == (Apply(manifest(kind)),)
    asyncio.run(act(able, wants(able, kind)))
    assert wants(able, kind) == ()
    mine = known(able)
    edited: dict[str, Any] = {"resource_version": "9"} | ({"generation": 4} if mine.meta.generation else {})
    able.facts.put(replace(mine, meta=replace(mine.meta, **edited)))
    assert wants(able, kind) == (Apply(manifest(kind)),)


@pytest.mark.parametrize("kind", [Kind.NETWORK_POLICY, Kind.DEPLOYMENT])
def test_status_writes_and_passes_cost_no_write(kind: Kind) -> None:
    able = hands(Versioned())
    asyncio.run(act(able, wants(able, kind)))
    mine = known(able)
    able.facts.put(replace(mine, meta=replace(mine.meta, resource_version="9")))
    assert wants(able, kind) == ()


def test_child_that_changed_while_no_operator_looked_is_applied_again() -> None:
    able = hands(Versioned())
    asyncio.run(act(able, wants(able, Kind.NETWORK_POLICY)))
    successor = hands(Versioned())
    successor.facts.put(known(able))
    assert wants(successor, Kind.NETWORK_POLICY) == (Apply(manifest(Kind.NETWORK_POLICY)),)
