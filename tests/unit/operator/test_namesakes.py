"""An object of somebody else under a child's name is never altered, and one of the family always is."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p
from tests.unit.operator.test_act import hands

from spade_contracts.labels import HASH_ANNOTATION
from spade_operator.kube import Conflict, Object, Refused
from spade_operator.reconcile.act import Hands, act
from spade_operator.reconcile.steps import Apply
from spade_operator.records import Kind

OURS = {"spade.dev/run": p.RUN, "spade.dev/run-uid": p.UID}
NAMED = [Kind.CONFIG_MAP, Kind.SERVICE, Kind.NETWORK_POLICY, Kind.DEPLOYMENT]


def manifest(kind: Kind = Kind.CONFIG_MAP) -> Object:
    owner = [{"uid": p.UID, "controller": True}]
    meta = {"name": "mini-probe", "namespace": "default", "labels": OURS, "ownerReferences": owner}
    return {"kind": str(kind), "metadata": meta | {"annotations": {HASH_ANNOTATION: "digest"}}}


class Store:
    """An API server with at most one object, which keeps preconditions as the real one does."""

    def __init__(self, **meta: Any) -> None:
        self.there: Object | None = (
            {"metadata": {"name": "mini-probe", "namespace": "default", **meta}} if meta else None
        )
        self.writes: list[Object] = []

    async def apply(self, manifest: Object, *, uid: str | None = None) -> Object:
        found = self.there["metadata"]["uid"] if self.there is not None else ""
        if uid is not None and uid != found:
            raise Conflict("apply", 409, "the object has been modified")
        self.writes.append(manifest)
        meta = manifest["metadata"] | {"uid": found or "made", "resourceVersion": "9"}
        self.there = {**manifest, "metadata": meta}
        return self.there

    async def find(self, kind: str, namespace: str, name: str, *, metadata_only: bool = False) -> Object | None:
        return self.there


async def applied(store: Store, kind: Kind, able: Hands | None = None) -> None:
    await act(able or hands(store), (Apply(manifest(kind)),))


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("labels", [{}, {"spade.dev/run": p.RUN}, {"spade.dev/run": "other", "spade.dev/run-uid": "u"}])
async def test_object_of_somebody_else_is_refused_with_its_name_and_left_alone(
    kind: Kind, labels: dict[str, str]
) -> None:
    store = Store(uid="theirs", labels=labels)
    with pytest.raises(Refused, match=f"{kind} default/mini-probe is there already and of another family; rename or"):
        await applied(store, kind)
    assert store.writes == []


async def test_object_of_somebody_else_with_the_runs_label_is_known_and_refused_without_a_call() -> None:
    store = Store(uid="theirs", labels={"spade.dev/run": p.RUN})
    able = hands(store)
    able.facts.put(able.facts.read(Kind.CONFIG_MAP, store.there or {}))
    with pytest.raises(Refused, match="of another family"):
        await applied(store, Kind.CONFIG_MAP, able)
    assert store.writes == []


@pytest.mark.parametrize("kind", NAMED)
async def test_child_that_is_there_and_not_known_is_recognised_by_its_labels_or_its_owner(kind: Kind) -> None:
    """Its create was answered with an error, or somebody took our labels away."""
    owner = [{"uid": p.UID, "controller": True}]
    for mark in ({"labels": OURS}, {"ownerReferences": owner}, {"labels": OURS | {"spade.dev/run-uid": "earlier"}}):
        store = Store(uid="ours", **mark)
        await applied(store, kind)
        assert [what["metadata"]["name"] for what in store.writes] == ["mini-probe"]


async def test_known_child_is_written_once_and_one_that_another_replaced_is_not() -> None:
    store = Store()
    able = hands(store)
    await applied(store, Kind.CONFIG_MAP, able)
    await applied(store, Kind.CONFIG_MAP, able)
    assert len(store.writes) == 2
    store.there = {"metadata": {"name": "mini-probe", "namespace": "default", "uid": "theirs"}}
    with pytest.raises(Refused):
        await applied(store, Kind.CONFIG_MAP, able)
    assert len(store.writes) == 2


async def test_child_that_is_gone_is_forgotten_and_made_by_the_next_pass() -> None:
    store = Store()
    able = hands(store)
    await applied(store, Kind.CONFIG_MAP, able)
    store.there = None
    with pytest.raises(Conflict):
        await applied(store, Kind.CONFIG_MAP, able)
    assert able.facts.child("default", p.RUN, (Kind.CONFIG_MAP, "mini-probe")) is None
    able = replace(able, clock=lambda: p.ago(-60))
    await applied(store, Kind.CONFIG_MAP, able)
    assert store.there is not None


async def test_secret_is_applied_without_a_look_because_its_type_protects_those_of_others() -> None:
    store = Store(uid="whoever's")
    await applied(store, Kind.SECRET)
    assert len(store.writes) == 1
