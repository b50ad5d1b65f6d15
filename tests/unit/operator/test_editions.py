"""Under definitions of another edition nothing is decided: objects say so, and the rest of their status stays."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p
from tests.unit.operator.test_act import Server
from tests.unit.operator.test_passes import RUN, shop

from spade_contracts.resources import Phase, RunCondition
from spade_contracts.resources.edition import Edition
from spade_operator.editions import difference, first_look, keep_looking, ours, published
from spade_operator.facts import Facts
from spade_operator.keys import Key, run_key
from spade_operator.kube import NotFound, Object, Refused, Unavailable
from spade_operator.queue import WorkQueue
from spade_operator.reconcile.passes import Outcome, reconcile
from spade_operator.records import Kind

STRANGE = "Of the installed definitions, SpadeRun is of SPADE 9.9 (edition 0123456789ab)."


def document(titles: dict[str, str]) -> Object:
    """What an API server publishes of kinds with these titles."""
    return {
        "components": {
            "schemas": {
                f"dev.spade.v1alpha1.{kind}": {
                    "title": title,
                    "properties": {"spec": {}},
                    "x-kubernetes-group-version-kind": [{"group": "spade.dev", "kind": kind, "version": "v1alpha1"}],
                }
                for kind, title in titles.items()
            }
        }
    }


def stamps(**changes: str) -> dict[str, str]:
    return {
        kind: changes.get(kind, f"{kind}, SPADE {own.version}, edition {own.digest}") for kind, own in ours().items()
    }


def test_own_definitions_are_no_difference() -> None:
    assert difference(ours(), published(document(stamps()))) == ""


@pytest.mark.parametrize(
    ("titles", "words"),
    [
        (stamps(SpadeRun="SpadeRun, SPADE 0.9.0, edition 0123456789ab"), "SpadeRun is of SPADE 0.9.0 (edition 0123456"),
        (stamps(EnvBatch=""), "EnvBatch is older than editions"),
        ({kind: title for kind, title in stamps().items() if kind != "RolloutJob"}, "RolloutJob is missing"),
    ],
)
def test_difference_names_the_definition_the_versions_and_what_to_do(titles: dict[str, str], words: str) -> None:
    text = difference(ours(), published(document(titles)))
    assert words in text
    assert "kubectl apply --server-side" in text


def test_another_version_of_the_product_with_equal_definitions_is_no_difference() -> None:
    titles = {kind: f"{kind}, SPADE 9.9.9, edition {own.digest}" for kind, own in ours().items()}
    assert difference(ours(), published(document(titles))) == ""


class Holding(Server):
    """Has a run with a field that only another edition knows."""

    async def get(self, kind: str, namespace: str, name: str) -> Object:
        found = await super().get(kind, namespace, name)
        known = {"type": "Accepted", "status": "True", "reason": "Prepared", "message": "", "observedGeneration": 1,
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
        status = {"conditions": [known, known | {"type": "Progressing"}], "ofTheNextVersion": 7, "rollout": 3}
        return found | {"kind": kind, "status": status} | ({"spec": {"run": "x"}} if kind == Kind.BATCH else {})


async def test_working_run_gets_one_condition_and_nothing_else_is_done() -> None:
    server = Holding()
    able = shop(server, p.run_record(p.holding(*p.AT_WORK, phase=Phase.PLAYING, rollout=3)), p.ENGINE)
    able.hands.facts.strange_definitions = STRANGE
    assert await reconcile(able, RUN) == Outcome()
    ((verb, body),) = server.writes
    assert verb == "update status"
    assert body["status"]["ofTheNextVersion"] == 7, "what only another edition knows stays"
    assert body["status"]["rollout"] == 3
    kept, condition = body["status"]["conditions"]
    assert kept["type"] == "Accepted"
    assert (condition["type"], condition["status"], condition["reason"], condition["message"]) == (
        "Progressing", "False", "EditionDiffers", STRANGE,
    )  # fmt: skip


async def test_condition_that_stands_is_not_written_again() -> None:
    status = p.holding(*p.AT_WORK)
    said = p.condition(RunCondition.PROGRESSING, False, p.Reason.EDITION_DIFFERS, STRANGE)
    server = Holding()
    able = shop(server, p.run_record(status.model_copy(update={"conditions": (*status.conditions, said)})))
    able.hands.facts.strange_definitions = STRANGE
    await reconcile(able, RUN)
    assert server.writes == []


@pytest.mark.parametrize("end", [RunCondition.COMPLETE, RunCondition.FAILED])
async def test_ended_run_waits_for_nothing(end: RunCondition) -> None:
    server = Holding()
    able = shop(server, p.run_record(p.holding(end)))
    able.hands.facts.strange_definitions = STRANGE
    await reconcile(able, RUN)
    assert server.writes == []


async def test_unit_of_a_run_is_left_alone_and_a_batch_of_its_own_says_why_it_waits() -> None:
    server = Holding()
    able = shop(server, p.run_record(), p.batch(0), p.pool_record())
    able.hands.facts.strange_definitions = STRANGE
    await reconcile(able, Key(Kind.BATCH, "default", p.batch(0).meta.name, p.RUN))
    assert server.writes == []
    await reconcile(able, run_key("default", p.POOL_FAMILY))
    ((_, body),) = server.writes
    assert body["kind"] == "EnvBatch"
    assert body["status"]["conditions"][-1]["reason"] == "EditionDiffers"


async def test_pods_of_a_deleted_run_are_freed_all_the_same() -> None:
    class Gone(Server):
        async def get(self, kind: str, namespace: str, name: str) -> Object:
            raise NotFound("get", 404, "")

    server = Gone()
    able = shop(server, p.ENGINE)
    able.hands.facts.strange_definitions = STRANGE
    await reconcile(able, RUN)
    assert [what["metadata"]["name"] for _, what in server.writes] == [p.ENGINE.meta.name]


async def test_deleted_run_whose_folder_is_to_go_keeps_what_is_known_of_its_claim() -> None:
    run = p.run_record(storage={"onDelete": "Delete"})
    run = replace(run, meta=replace(run.meta, deleting=True, holds_storage=True))
    claim = p.ChildRecord(p.meta(Kind.CLAIM, f"{p.RUN}-storage"))
    server = Holding()
    able = shop(server, run, p.ENGINE, claim)
    able.hands.facts.strange_definitions = STRANGE
    await reconcile(able, RUN)
    assert [verb for verb, _ in server.writes] == ["delete"]
    assert able.hands.facts.child("default", p.RUN, (Kind.CLAIM, claim.meta.name)) is not None


class Publishing:
    """Answers looks in turn; the last one stands."""

    def __init__(self, *answers: tuple[str, Object | None] | Exception) -> None:
        self.answers = list(answers)
        self.known: list[str] = []

    async def schemas(self, known: str) -> tuple[str, Any]:
        self.known.append(known)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_first_look_waits_until_the_definitions_are_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spade_operator.editions.RETRY_SECONDS", 0.0)
    facts = Facts()
    troubles = (NotFound("read", 404, ""), Refused("read", 403, ""), Unavailable("read", 0, ""))
    server: Any = Publishing(*troubles, ("a", document(stamps(SpadeRun=""))))
    assert await first_look(server, facts) == "a"
    assert "SpadeRun" in facts.strange_definitions


async def test_change_of_the_definitions_gives_every_run_a_pass_and_an_outage_none() -> None:
    facts, queue = Facts(), WorkQueue[Key]()
    facts.put(p.run_record())
    server: Any = Publishing(("a", None), Unavailable("read", 0, ""), ("b", document(stamps(SpadeRun=""))), ("b", None))
    task = asyncio.create_task(keep_looking(server, facts, queue, "a", seconds=0.0))
    try:
        assert await asyncio.wait_for(queue.get(), 30) == RUN
    finally:
        task.cancel()
    assert server.known[:3] == ["a", "a", "a"]
    assert facts.strange_definitions


def test_editions_of_all_kinds_are_known() -> None:
    assert all(isinstance(own, Edition) for own in ours().values())
    assert set(ours()) == {"SpadeRun", "EnvBatch", "RolloutJob"}
