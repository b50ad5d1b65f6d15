"""What somebody else did to a child is told apart from what we want anew, is told once, and a fight slows down."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p
from tests.unit.operator.test_act import Server

from spade_contracts.labels import HASH_ANNOTATION
from spade_operator.facts import Facts, Repairs
from spade_operator.kube import Object
from spade_operator.lease import Leadership
from spade_operator.reconcile.act import Hands, act
from spade_operator.reconcile.drift import (
    FREE_REPAIRS,
    MAX_WAIT_SECONDS,
    REST_SECONDS,
    TELL_AGAIN_SECONDS,
    may_repair,
    repaired,
    wait_seconds,
)
from spade_operator.reconcile.events import News
from spade_operator.reconcile.observe import observe
from spade_operator.reconcile.steps import Apply, Remove
from spade_operator.records import Kind, Record, record_of

NAME = "mini-sandbox"
KINDS = [Kind.NETWORK_POLICY, Kind.DEPLOYMENT, Kind.SECRET, Kind.SERVICE, Kind.CONFIG_MAP]
READABLE = [kind for kind in KINDS if kind is not Kind.SECRET]


class Cluster(Server):
    """An API server with one child, as far as applies, other writers and our manager's time are concerned."""

    def __init__(self) -> None:
        super().__init__()
        self.object: Object | None = None
        self.second = 0
        self._uid = 0

    def _stored(self, what: Object) -> Object:
        self.second += 1
        if self.object is None:
            self._uid += 1
            self.object = {"content": None, "foreign": 0, "version": 0, "generation": 0}
        if self.object["content"] != what:
            self._change(content=what, stamp=f"2026-01-01T12:00:{self.second:02}Z")
        return self.read()

    def _change(self, **changes: Any) -> None:
        assert self.object is not None
        self.object |= {"version": self.object["version"] + 1, "generation": self.object["generation"] + 1, **changes}

    def read(self) -> Object:
        assert self.object is not None
        known = self.object
        what = known["content"] if isinstance(known["content"], dict) else self.writes[-1][1]
        number = {} if what["kind"] in (Kind.SECRET, Kind.SERVICE, Kind.CONFIG_MAP) else known["generation"]
        theirs = {"f:spec": {}} if known["content"] == "edited" else {}
        entries = [
            {"manager": "kubectl", "operation": "Update", "time": "2027-01-01T00:00:00Z", "fieldsV1": theirs},
            {"manager": "spade-operator", "operation": "Apply", "time": known["stamp"]},
        ]
        more = {"uid": f"uid-{self._uid}", "resourceVersion": str(known["version"]), "managedFields": entries}
        return {**what, "metadata": what["metadata"] | more | ({"generation": number} if number else {})}

    async def delete(
        self,
        kind: str,
        namespace: str,
        name: str,
        *,
        uid: str,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        self.drop()

    def edit(self) -> None:
        """Somebody else changes a field of ours."""
        self._change(content="edited")

    def scale(self) -> None:
        """Somebody else changes a field that is none of ours."""
        self._change()

    def drop(self) -> None:
        self.object = None


class Life:
    """Passes over a run with one child."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.cluster, self.digest = kind, Cluster(), "digest"
        self.told: list[News] = []
        self.counted: Counter[Kind] = Counter()
        self.now = p.NOW
        self.restart()

    def restart(self) -> None:
        """Another operator takes over, with an empty store."""
        leadership = Leadership(clock=lambda: 0.0, held_until=1.0)
        self.hands = Hands(
            self.cluster, Facts(), leadership, poller=None, site=p.SITE, clock=lambda: self.now,  # type: ignore[arg-type]
            tell=self.told.extend, count_repair=lambda kind: self.counted.update([kind]),
        )  # fmt: skip
        self.hands.facts.put(p.run_record())

    @property
    def manifest(self) -> Object:
        labels = {"spade.dev/run": p.RUN, "spade.dev/run-uid": p.UID, "spade.dev/role": "engine"}
        meta = {"name": NAME, "namespace": "default", "labels": labels, "annotations": {HASH_ANNOTATION: self.digest}}
        return {"kind": str(self.kind), "metadata": meta}

    def looked(self) -> None:
        """A watch or list tells what is there; of Secrets a resync tells nothing."""
        known = self.child()
        if self.kind is Kind.SECRET:
            self.hands.facts.drop_secrets()
        elif self.cluster.object is None:
            if known is not None:
                self.hands.facts.forget(known)
        else:
            self.hands.facts.put(record_of(self.kind, self.cluster.read()))

    def child(self) -> Record | None:
        return self.hands.facts.child("default", p.RUN, (self.kind, NAME))

    def a_pass(self) -> None:
        seen = observe(self.hands.facts, p.SITE, "default", p.RUN)
        assert seen is not None
        asyncio.run(act(self.hands, seen.changed([self.manifest])))

    def applies(self) -> int:
        return len(self.cluster.writes)


@pytest.mark.parametrize("kind", KINDS)
def test_first_creation_and_what_we_want_anew_are_no_drift(kind: Kind) -> None:
    life = Life(kind)
    life.a_pass()
    life.digest = "another"
    life.a_pass()
    life.looked()
    life.a_pass()
    assert (life.told, life.counted) == ([], {})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ["edit", "drop"])
def test_repair_is_counted_and_told_once_on_the_run(kind: Kind, what: str) -> None:
    life = Life(kind)
    life.a_pass()
    getattr(life.cluster, what)()
    life.looked()
    for _ in range(3):
        life.a_pass()
        life.looked()
    assert life.counted == {kind: 1}
    (told,) = life.told
    assert (told.type, told.reason, told.regarding.kind, told.regarding.name) == (
        "Warning", "DriftRepaired", Kind.RUN, p.RUN
    )  # fmt: skip
    assert told.regarding.uid == p.UID
    done = "changed" if what == "edit" else "deleted"
    assert told.note == f"{kind} {NAME} was {done} by somebody else and has been applied again."


@pytest.mark.parametrize("kind", READABLE)
def test_what_was_edited_while_no_operator_looked_is_told_too(kind: Kind) -> None:
    life = Life(kind)
    life.a_pass()
    life.cluster.edit()
    edited = life.cluster.read()
    edited["metadata"] = life.manifest["metadata"] | edited["metadata"]
    life.restart()
    life.hands.facts.put(record_of(kind, edited))
    life.a_pass()
    assert life.counted == {kind: 1}


@pytest.mark.parametrize("kind", KINDS)
def test_another_operator_that_finds_all_in_order_tells_nothing(kind: Kind) -> None:
    life = Life(kind)
    life.a_pass()
    life.restart()
    life.looked()
    life.a_pass()
    assert (life.told, life.counted) == ([], {})


@pytest.mark.parametrize("kind", KINDS)
def test_field_that_is_left_to_others_may_be_changed_by_them(kind: Kind) -> None:
    life = Life(kind)
    life.a_pass()
    for _ in range(5):
        life.cluster.scale()
        life.looked()
        life.a_pass()
    assert (life.told, life.counted) == ([], {})


def test_what_we_removed_ourselves_is_made_again_without_a_word() -> None:
    life = Life(Kind.DEPLOYMENT)
    life.a_pass()
    child = life.child()
    assert child is not None
    asyncio.run(act(life.hands, (Remove(child),)))
    life.looked()
    life.a_pass()
    assert (life.told, life.counted) == ([], {})


def test_namesake_of_a_deleted_run_takes_its_children_over_without_a_word() -> None:
    life = Life(Kind.SERVICE)
    life.a_pass()
    run = p.run_record()
    life.hands.facts.forget(run)
    life.hands.facts.put(replace(run, meta=replace(run.meta, uid="another", run_uid="another")))
    life.cluster.drop()
    life.looked()
    manifest = life.manifest
    manifest["metadata"]["labels"]["spade.dev/run-uid"] = "another"
    asyncio.run(act(life.hands, (Apply(manifest),)))
    assert (life.told, life.counted) == ([], {})


def test_fight_costs_less_and_less_and_is_told_now_and_then() -> None:
    life = Life(Kind.SERVICE)
    life.a_pass()
    seconds = 900
    for _ in range(seconds):
        life.now += timedelta(seconds=1)
        life.cluster.second = 0
        life.cluster.edit()
        life.looked()
        life.a_pass()
    most = FREE_REPAIRS + 6 + seconds / MAX_WAIT_SECONDS
    assert FREE_REPAIRS < life.applies() <= most
    assert 1 < len(life.told) <= 1 + seconds / TELL_AGAIN_SECONDS
    assert "in a row" in life.told[-1].note
    assert "waits 20 s" in life.told[-1].note


@given(st.lists(st.floats(0, 2 * REST_SECONDS), max_size=40))
def test_repairs_are_never_held_back_longer_than_the_limit(gaps: list[float]) -> None:
    now, known = p.NOW, None
    for gap in gaps:
        now += timedelta(seconds=gap)
        if may_repair(known, now):
            known = repaired(known, now)
        assert 0 <= wait_seconds(known) <= MAX_WAIT_SECONDS
    assert may_repair(known, now + timedelta(seconds=MAX_WAIT_SECONDS))


def test_child_that_was_left_alone_starts_anew() -> None:
    many = Repairs(50, p.NOW, p.NOW)
    assert repaired(many, p.ago(-REST_SECONDS)).count == 1
    assert repaired(many, p.ago(-60)).count == 51


@pytest.mark.parametrize(
    ("kind", "name", "what", "opened"),
    [
        (Kind.NETWORK_POLICY, "mini-sandbox", "drop", True),
        (Kind.NETWORK_POLICY, "mini-closed", "drop", True),
        (Kind.NETWORK_POLICY, "mini-engine", "drop", False),
        (Kind.NETWORK_POLICY, "mini-engine", "edit", True),
        (Kind.SERVICE, "mini-sandbox", "edit", False),
    ],
)
def test_policy_that_may_have_opened_sandboxes_makes_them_suspect_until_its_repair(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, name: str, what: str, opened: bool
) -> None:
    monkeypatch.setitem(globals(), "NAME", name)
    life = Life(kind)
    life.a_pass()
    getattr(life.cluster, what)()
    life.looked()
    life.a_pass()
    breach = life.hands.facts.breach(p.UID)
    assert breach == (datetime(2026, 1, 1, 12, 0, life.cluster.second, tzinfo=UTC) if opened else None)
    seen = observe(life.hands.facts, p.SITE, "default", p.RUN)
    assert seen is not None
    assert seen.breached_at == breach
