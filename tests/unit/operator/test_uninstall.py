"""What keeps the chart from being removed is told by name; what has ended does not keep it."""

from typing import Any

import pytest

from spade_operator.kube import Listing, Object
from spade_operator.records import Kind
from spade_operator.uninstall import REFUSED, SHOWN, LiveRuns, clear, head_of, objection

UNDO = "helm rollback spade 3 --namespace spade-system"


def raw(name: str, true: str = "", phase: str = "") -> Object:
    conditions = [{"type": true, "status": "True"}, {"type": "Accepted", "status": "True"}] if true else []
    return {
        "metadata": {"name": name, "namespace": "runs", "uid": f"uid-{name}"},
        "status": {"phase": phase, "conditions": conditions},
    }


@pytest.mark.parametrize("end", ["Complete", "Failed"])
def test_object_that_has_ended_keeps_nothing(end: str) -> None:
    heads = [head_of(Kind.RUN, raw("mini", end)), head_of(Kind.BATCH, raw("pool", end))]
    assert objection(heads, LiveRuns.REFUSE, UNDO) == ""


@pytest.mark.parametrize("true", ["", "Suspended", "Isolated"])
def test_object_that_has_not_ended_is_told_by_name(true: str) -> None:
    said = objection([head_of(Kind.RUN, raw("mini", true, "Playing"))], LiveRuns.REFUSE, UNDO)
    assert "SpadeRun runs/mini (Playing)" in said
    assert said.endswith(UNDO)


def test_object_without_a_status_has_not_ended() -> None:
    fresh: Object = {"metadata": {"name": "mini", "namespace": "runs", "uid": "u"}}
    assert "SpadeRun runs/mini\n" in objection([head_of(Kind.RUN, fresh)], LiveRuns.REFUSE, UNDO)


def test_condition_that_is_not_true_is_no_end() -> None:
    unfinished = raw("mini")
    unfinished["status"]["conditions"] = [{"type": "Complete", "status": "False"}]
    assert objection([head_of(Kind.RUN, unfinished)], LiveRuns.REFUSE, UNDO)


def test_who_was_told_to_delete_them_does_not_object() -> None:
    assert objection([head_of(Kind.RUN, raw("mini"))], LiveRuns.DELETE, UNDO) == ""


def test_a_long_list_is_cut_and_counted() -> None:
    said = objection([head_of(Kind.RUN, raw(f"run{n:02d}")) for n in range(SHOWN + 3)], LiveRuns.REFUSE, UNDO)
    assert f"run{SHOWN - 1:02d}" in said
    assert f"run{SHOWN:02d}" not in said
    assert f"{SHOWN + 3} of its objects" in said
    assert "and 3 more" in said


class OneRunAfterAnother:
    """An API server where a run has ended, and somebody makes another one when that is deleted."""

    def __init__(self) -> None:
        self.runs = [raw("first", "Complete")]
        self.deleted: list[str] = []

    async def list(self, kind: str, *_: object, **__: object) -> Listing:
        return Listing(tuple(self.runs) if kind is Kind.RUN else (), "1")

    async def delete(self, kind: str, namespace: str, name: str, *, uid: str) -> None:
        self.deleted.append(name)
        self.runs = [raw("second")]


@pytest.mark.looptime
async def test_run_that_is_made_meanwhile_is_not_deleted_unasked() -> None:
    server: Any = OneRunAfterAnother()
    assert await clear(server, "runs", LiveRuns.REFUSE, UNDO) == REFUSED
    assert server.deleted == ["first"]
