"""The invariants of chaos see every breach that they are for, and no breach in a history without one."""

from itertools import count
from typing import Any

import pytest
from tests.integration.operator.invariants import Limits, Replay
from tests.integration.operator.witness import Event

from spade_operator.kube import Object
from spade_operator.records import Kind

LIMITS = Limits(rollouts=2, sandboxes=2, engines=1, group={"learner": 1}, budgets={"learner": 1})
VERSIONS = count(1)


def event(kind: Kind, name: str, role: str = "", owner: str = "run", *, gone: bool = False, **parts: Any) -> Event:
    meta = {"name": name, "uid": name, "labels": {"spade.dev/role": role}, "ownerReferences": [{"uid": owner}]}
    return Event(next(VERSIONS), kind, gone, {"metadata": meta, "spec": {}, "status": {}, **parts})


def job(name: str, role: str = "worker", owner: str = "unit", **parts: Any) -> Event:
    return event(Kind.JOB, name, role, owner, **{"spec": {"completions": 1}, **parts})


def pod(name: str, role: str, job: str) -> Event:
    return event(Kind.POD, name, role, job, status={"phase": "Running"})


def unit(name: str, number: int, *conditions: str, gone: bool = False) -> Event:
    return event(Kind.ROLLOUT, name, spec={"rollout": number}, status=marks(*conditions), gone=gone)


def run(*conditions: str, **status: Any) -> Event:
    return event(Kind.RUN, "mini", status={**marks(*conditions), **status})


def marks(*conditions: str) -> Object:
    return {"conditions": [{"type": kind, "status": "True"} for kind in conditions]}


def breaches(*events: Event) -> list[str]:
    return list(Replay(LIMITS).broken(events))


def test_life_of_a_run_breaks_nothing() -> None:
    assert not breaches(
        run(), job("l0", "learner"), pod("l0-0", "learner", "l0"),
        unit("unit", 0), job("a0"), pod("w0", "worker", "a0"), job("a0", status=marks("Failed")),
        event(Kind.POD, "w0", "worker", "a0", gone=True), job("a1"), unit("unit", 0, "Complete"),
        run(rollout=1, policyVersion=1), unit("unit", 0, "Complete", gone=True), unit("next", 1, "Complete"),
        run("Complete", rollout=2, policyVersion=2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "events"),
    [
        ("two Jobs of one", (job("a0"), job("a1"))),
        ("two Jobs of one learner", (job("l0", "learner"), job("l1", "learner", "other"))),
        ("two Jobs with pods", (job("a0"), pod("w0", "worker", "a0"), job("a0", gone=True), job("a1"),
                                pod("w1", "worker", "a1"))),
        ("made before", (unit("one", 0), unit("one", 0, gone=True), unit("other", 0))),
        ("begun again", (unit("unit", 0, "Complete"), job("a0"))),
        ("has failed", (run("Failed"), job("a0"))),
        ("complete without all", (run("Complete", rollout=2, policyVersion=1),)),
        ("rollout went from", (run(rollout=1), run(rollout=0))),
        ("were forgotten", (run(restarts={"learner": {"sinceProgress": 1, "total": 1}}),
                            run(restarts={"learner": {"sinceProgress": 0, "total": 0}}))),
        ("with a budget of", (run(restarts={"learner": {"sinceProgress": 3, "total": 3}}),)),
        ("without progress", tuple(job(f"l{n}", "learner", status=marks("Failed")) for n in range(3))),
        ("replicas", (event(Kind.DEPLOYMENT, "sandbox", "sandbox", spec={"replicas": 3}),)),
        ("more than 2", tuple(pod(f"s{n}", "sandbox", "deployment") for n in range(3))),
        ("pods", (job("l0", "learner", spec={"completions": 2}),)),
    ],
)  # fmt: skip
def test_each_breach_is_seen(words: str, events: tuple[Event, ...]) -> None:
    found = breaches(*events)
    assert any(words in breach for breach in found), found
