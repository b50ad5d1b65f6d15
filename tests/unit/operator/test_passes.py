"""A pass ends in the queue: what is refused is shown and tried again, and one bad object holds up nobody."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p
from tests.unit.operator.test_act import Server

from spade_contracts.labels import Role
from spade_contracts.resources import BatchCondition, Phase, Reason, RolloutCondition, RunCondition
from spade_operator.facts import Facts
from spade_operator.keys import Key, is_finished, run_key
from spade_operator.kube import Conflict, NamespaceEnding, NotFound, Object, Refused
from spade_operator.lease import Leadership
from spade_operator.metrics import make_telemetry
from spade_operator.queue import WorkQueue
from spade_operator.reconcile import env_batch, rollout_job
from spade_operator.reconcile.act import Hands
from spade_operator.reconcile.events import News, news
from spade_operator.reconcile.passes import Outcome, Shop, reconcile, work
from spade_operator.reconcile.refusals import run_refused, unit_refused
from spade_operator.reconcile.rollout import rollout
from spade_operator.records import Kind

RUN = run_key("default", p.RUN)


class Refusing(Server):
    """Refuses everything but status writes."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code

    async def _write(self, verb: str, what: Any) -> Object:
        if not verb.startswith("update"):
            raise Refused(f"{verb} {what['kind']}", self.code, "limits[foo] is no resource")
        return await super()._write(verb, what)


def shop(server: Any, *records: Any, leads: bool = True) -> Shop:
    facts = Facts()
    for record in records:
        facts.put(record)
    leadership = Leadership(clock=lambda: 0.0, held_until=1.0 if leads else -1.0)
    hands = Hands(server, facts, leadership, poller=None, site=p.SITE, clock=lambda: p.NOW)  # type: ignore[arg-type]
    return Shop(hands, WorkQueue[Key](), make_telemetry(facts))


@pytest.mark.parametrize(("code", "reason"), [(422, "InvalidSpec"), (403, "Refused")])
async def test_refused_child_is_shown_in_the_api_servers_words(code: int, reason: str) -> None:
    server = Refusing(code)
    with pytest.raises(Refused):
        await reconcile(shop(server, p.run_record()), RUN)
    ((_, body),) = server.writes
    (condition,) = body["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Accepted", "False", reason)
    assert "limits[foo] is no resource" in condition["message"]
    assert body["status"]["phase"] == "Pending"


def test_refusal_after_acceptance_holds_up_progress_and_settles() -> None:
    error = Refused("apply Deployment", 422, "no")
    seen = p.at_work()
    status = run_refused(seen, error, p.NOW)
    changed = {c.type: c for c in status.conditions}
    assert changed[RunCondition.ACCEPTED].status == "True"
    assert changed[RunCondition.PROGRESSING].reason == "InvalidSpec"
    assert status.phase is Phase.STARTING
    again = p.at_work(run=p.run_record(status))
    assert run_refused(again, error, p.ago(-60)) == status


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("spec.resources.requests[foo]: must be a standard resource", "spec.suspend: Now"),
        ("spec.selector: Invalid value: field is immutable", "rename or remove it"),
        ("data: Forbidden: field is immutable when `immutable` is set", "rename or remove it"),
    ],
)
def test_invalid_child_is_told_with_what_to_do(words: str, remedy: str) -> None:
    status = run_refused(p.at_work(), Refused("apply Deployment", 422, words), p.NOW)
    (message,) = (c.message for c in status.conditions if c.type == RunCondition.PROGRESSING)
    assert words in message
    assert remedy in message


def test_refusal_does_not_take_a_run_out_of_its_end() -> None:
    ended = p.at_work(run=p.run_record(p.holding(*p.AT_WORK, RunCondition.FAILED, phase=Phase.FAILED)))
    assert run_refused(ended, Refused("delete Pod", 403, "no"), p.NOW).phase is Phase.FAILED


def test_unit_whose_job_is_invalid_fails_and_one_that_is_forbidden_waits() -> None:
    for unit in (p.batch(0), p.plays(0)):
        failed = unit_refused(unit, Refused("create Job", 422, "no"), p.NOW).conditions
        assert {(c.type, c.status) for c in failed} == {("Failed", "True"), ("Complete", "False")}
        for words, reason in (("exceeded quota: small, used: count/jobs.batch=1", "QuotaExceeded"), ("no", "Refused")):
            waiting = unit_refused(unit, Refused("create Job", 403, words), p.NOW).conditions
            assert [(c.type, c.status, c.reason) for c in waiting] == [("Complete", "False", reason)]


def test_run_whose_child_exceeds_a_quota_says_so_and_an_event_tells_it() -> None:
    error = Refused("create Job default/mini-prepare", 403, "exceeded quota: small, used: count/jobs.batch=1")
    seen = p.seen()
    status = run_refused(seen, error, p.NOW)
    (accepted,) = [c for c in status.conditions if c.type == RunCondition.ACCEPTED]
    assert (accepted.status, accepted.reason) == ("False", "QuotaExceeded")
    assert accepted.message.endswith("kubectl -n default describe resourcequota small.")
    assert [(one.type, one.reason) for one in news(seen.run, status.conditions, seen.run.meta)] == [
        ("Warning", "QuotaExceeded")
    ]


def test_unit_that_waits_for_a_quota_stands_in_its_runs_condition_until_its_pods_run() -> None:
    waits = p.condition(RolloutCondition.COMPLETE, False, Reason.QUOTA_EXCEEDED, "small")
    plays = p.plays(0)
    plays = p.RolloutRecord(plays.meta, plays.spec, plays.status.model_copy(update={"conditions": (waits,)}))
    seen = p.at_work(batches=[p.batch(0, BatchCondition.COMPLETE)], rollouts=[plays])
    assert p.wanted(rollout(seen, p.NOW), RunCondition.PROGRESSING) == ("False", Reason.QUOTA_EXCEEDED, "small")
    works = p.pod(Role.WORKER, "player", rollout=0)
    seen = p.at_work(batches=[p.batch(0, BatchCondition.COMPLETE)], rollouts=[plays], pods={works: None})
    assert p.wanted(rollout(seen, p.NOW), RunCondition.PROGRESSING)[0] == "True"


async def test_nothing_is_decided_without_the_lease() -> None:
    server = Server()
    assert await reconcile(shop(server, p.run_record(), leads=False), RUN) == Outcome()
    assert server.writes == []


class Gone(Server):
    """There is no run."""

    async def get(self, kind: str, namespace: str, name: str) -> Object:
        raise NotFound("get", 404, "")


async def test_pods_of_a_deleted_run_are_freed_and_strangers_with_its_label_are_not() -> None:
    server = Gone()
    stranger = p.PodRecord(p.meta(Kind.POD, "stranger", run_uid=""))
    wake = (await reconcile(shop(server, p.ENGINE, p.SANDBOX, stranger), RUN)).wake_after_seconds
    assert {what["metadata"]["name"] for _, what in server.writes} == {p.ENGINE.meta.name, p.SANDBOX.meta.name}
    assert wake is not None, "it looks again until nothing is left"


async def test_run_that_is_there_after_all_is_not_cleaned_away() -> None:
    server = Server()
    able = shop(server, p.ENGINE)
    await reconcile(able, RUN)
    assert server.writes == []
    assert able.hands.facts.run("default", p.RUN) is not None


async def worked(able: Shop, *keys: Key) -> None:
    """Passes for these keys, until none is ready."""
    for key in keys:
        able.queue.add(key)
    worker = asyncio.create_task(work(able))
    for _ in range(500):
        await asyncio.sleep(0)  # nothing here waits for anything else, so turns of the loop are all it takes
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    able.queue.close()


async def test_failing_pass_is_counted_and_the_worker_goes_on() -> None:
    able = shop(Refusing(422), p.run_record())
    other = run_key("default", "other")
    await worked(able, RUN, other)
    assert able.queue.failures(RUN) == 1
    assert able.queue.failures(other) == 0
    assert able.telemetry.registry.get_sample_value(
        "spade_reconcile_errors_total", {"kind": "SpadeRun", "error": "Refused"}
    ) == 1  # fmt: skip


async def test_lost_race_is_no_fault() -> None:
    server = Server()
    server.error = Conflict("update", 409, "changed")
    able = shop(server, p.run_record(problem="wrong"))
    await worked(able, RUN)
    assert able.queue.failures(RUN) == 0


class Ending(Server):
    """In a namespace that is being deleted: nothing can be made."""

    async def _write(self, verb: str, what: Any) -> Object:
        self.writes.append((verb, what))
        if verb in ("create", "apply"):
            raise NamespaceEnding(f"{verb} {what['kind']}", 403, "because it is being terminated")
        return self._stored(what)


async def test_namespace_that_ends_is_the_end_of_its_runs_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    server = Ending()
    able = shop(server, p.run_record(p.holding(*p.AT_WORK)), p.ENGINE, p.plays(0))
    for _ in range(3):
        await worked(able, RUN, Key(Kind.ROLLOUT, "default", "mini-r0000", p.RUN))
    tried = [what for verb, what in server.writes if verb in ("create", "apply")]
    assert len(tried) == 1, "nothing is tried again"
    assert {what["metadata"]["name"] for verb, what in server.writes if verb == "delete"} == {p.ENGINE.meta.name}
    assert able.queue.failures(RUN) == 0
    labels = {"kind": "SpadeRun", "error": "NamespaceEnding"}
    assert able.telemetry.registry.get_sample_value("spade_reconcile_errors_total", labels) is None
    (line,) = [record for record in caplog.records if record.name == "spade.passes"]
    assert "ends with its namespace" in line.getMessage()
    assert line.exc_info is None


async def test_run_of_a_new_namespace_of_the_same_name_is_a_new_one() -> None:
    server = Ending()
    able = shop(server, p.run_record(p.holding(*p.AT_WORK)))
    await worked(able, RUN)
    run = p.run_record(p.holding(*p.AT_WORK))
    able.hands.facts.forget(run)
    able.hands.facts.put(replace(run, meta=replace(run.meta, uid="another", run_uid="another")))
    tried = len(server.writes)
    await worked(able, RUN)
    assert len(server.writes) > tried


async def test_written_status_is_told_and_a_pass_that_writes_none_tells_nothing() -> None:
    told: list[News] = []
    able = shop(Server(), p.run_record(problem="wrong"))
    able = replace(able, hands=replace(able.hands, tell=told.extend))
    await reconcile(able, RUN)
    (news,) = told
    assert (news.action, news.reason) == ("Accepted", "InvalidSpec")
    written = able.hands.facts.run("default", p.RUN)
    assert written is not None
    able.hands.facts.put(replace(written, spec=None, method=None, problem="wrong"))
    await reconcile(able, RUN)
    assert told == [news]


@pytest.mark.parametrize("ends", [(), ("Complete",), ("Failed",), ("Generated",)])
def test_unit_that_is_passed_over_as_finished_is_one_for_which_nothing_would_be_decided(ends: tuple[str, ...]) -> None:
    batch, plays = p.batch(0, *ends), p.plays(0, *ends)
    seen = p.at_work(batches=[batch], rollouts=[plays])
    assert is_finished(batch) == env_batch.finished(batch.status)
    assert is_finished(plays) == rollout_job.finished(plays.status)
    if is_finished(batch):
        assert env_batch.decide_batch(seen, batch, p.NOW) == ((), batch.status, None)
        assert rollout_job.decide_rollout(seen, plays, p.NOW) == ((), plays.status, None)


async def test_pass_is_idle_exactly_when_it_wrote_nothing() -> None:
    server = Server()
    able = shop(server, p.run_record(p.holding(*p.AT_WORK)), p.plays(0), p.plays(1, "Complete"))
    idle = []
    for key in (
        RUN,
        Key(Kind.ROLLOUT, "default", "mini-r0000", p.RUN),
        Key(Kind.ROLLOUT, "default", "mini-r0001", p.RUN),
    ):
        writes = len(server.writes)
        idle.append((await reconcile(able, key)).idle)
        assert idle[-1] == (len(server.writes) == writes)
    assert idle[0] is False
    assert idle[-1] is True
