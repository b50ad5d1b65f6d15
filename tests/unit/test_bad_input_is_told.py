"""Bad input stands in the metrics of its run: from the input through the worker's task and last words to the scrape."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.support import pictures as p
from tests.unit.operator.test_rollout import RESULT, proven
from tests.unit.trainer.builders import SMALL, run_manifest, write_cycle, write_rollout
from tests.unit.trainer.builders import design as a_design
from tests.unit.trainer.byte_model import write_byte_model, write_weights
from tests.unit.trainer.fakes import scripted

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.config.partial import merged
from spade_contracts.exit_codes import ExitCode
from spade_contracts.labels import Role
from spade_contracts.resources import EnvBatchStatus, RunCondition, SpadeRunStatus
from spade_contracts.tasks import DesignTask, PrepareTask, RunRef
from spade_contracts.tokens import Door
from spade_contracts.verdicts import Stage, accepted
from spade_operator.facts import Facts
from spade_operator.metrics import make_telemetry
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.env_batch import decide_batch
from spade_sandbox.verify import Judgement
from spade_sandbox.verify.canaries import Canary, Sighting
from spade_sandbox.verify.parse import parse_answer
from spade_trainer.chat import load_chat
from spade_trainer.design.corpus import Document
from spade_trainer.design.designer import Studio, design_slot
from spade_trainer.store import layout, manifests
from spade_trainer.store.canaries import write_sightings
from spade_trainer.store.designs import write_designs
from spade_trainer.store.objects import open_store
from spade_trainer.store.policies import finish
from spade_trainer.workers.main import main

SKILLS = ("Optimization", "Causal Inference")
SOUND = Sighting(Canary("chemist", Stage.ACCEPTED, source=""), "class AEnv: ...", accepted())
ATTEMPTS = 2
Value = Callable[..., float | None]


def scraped(status: SpadeRunStatus) -> Value:
    """A metric's value by name and labels, as the operator exports a run with this status."""
    facts = Facts()
    facts.put(p.run_record(status))
    registry: CollectorRegistry = make_telemetry(facts).registry
    return lambda name, **labels: registry.get_sample_value(name, {"namespace": "default", "run": p.RUN, **labels})


BEFORE = scraped(p.holding(*p.AT_WORK))
"""Of a run to which nothing has happened yet."""


class Bench:
    """A run's storage, and its workers' tasks done in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.words = folder / "termination-log"
        self.store = open_store((folder / "storage").as_uri())
        self.run = RunRef(namespace="default", name=p.RUN, uid="u", storage_uri=self.store.uri)
        monkeypatch.setenv("SPADE_TERMINATION_LOG", str(self.words))
        tokens = folder / "tokens"
        tokens.mkdir()
        for door in Door:
            (tokens / door).write_text("a token of the tests")

    def worked(self, task: PrepareTask | DesignTask) -> int:
        """Do a task as its worker does; the exit code."""
        file = self.folder / "task.json"
        file.write_text(task.model_dump_json())
        return main([task.kind, "--task", str(file), "--tokens", str(self.folder / "tokens"), "--status-port", "0"])

    def prepared(self, content: str, profile: Profile = Profile.CORRECTED, **environments: Any) -> Value:
        """Metrics after the preparation of a run with such a corpus."""
        corpus = self.folder / "corpus.jsonl"
        corpus.write_text(content)
        model = write_byte_model(self.folder / "model")
        write_weights(model)
        known = {"environments": {"corpus": {"uri": corpus.as_uri()}, **environments}, "play": {"context_tokens": 1024}}
        task = PrepareTask(run=self.run, model_uri=model.as_uri(), method=resolve(profile, known))
        assert self.worked(task) == ExitCode.DONE
        pod = p.pod(
            Role.PREPARE, job="mini-prepare", phase="Succeeded", containers=(p.ended(0, self.words.read_text()),)
        )
        return scraped(decide(p.seen(pods=[pod], jobs=[p.job("mini-prepare", Role.PREPARE)]), p.NOW).status)

    def begun(self, cycle: int = 0, **designer: Any) -> MethodConfig:
        """Record a run whose gate has been tried on its canaries, and before a later cycle a good one."""
        settings: dict[str, Any] = {"per_cycle": 2, "skills": SKILLS, "corpus": {"uri": ""}}
        settings["designer"] = {"attempts": ATTEMPTS, **designer}
        method = resolve(Profile.CORRECTED, merged(SMALL, {"environments": settings}))
        manifests.write(self.store, manifests.run_path(), run_manifest(method))
        write_weights(write_byte_model(self.folder / "storage/policies/0000"))
        finish(self.store, 0)
        if cycle:
            write_cycle(self.store, 0, [a_design(0, slot, SKILLS[slot], f"class G{slot}Env: ...") for slot in range(2)])
            for rollout in range(2):
                write_rollout(self.store, rollout, 0, {"c0000-s000": (1.0, 0.0), "c0000-s001": (1.0, 0.0)})
        write_sightings(self.store, layout.cycle_folder(cycle), 0, [SOUND])
        return method

    async def answered(self, method: MethodConfig, answer: str, cycle: int = 0) -> None:
        """Have the policy answer each request for a program so."""
        chat = load_chat(self.folder / "storage/policies/0000")

        async def judge(text: str, names: tuple[str, ...]) -> Judgement:
            parsed = parse_answer(text, 100_000)
            return Judgement(accepted(), parsed) if isinstance(parsed, str) else Judgement(parsed, None)

        studio = Studio(
            method=method,
            cycle=cycle,
            policy_version=0,
            chat=chat,
            generate=scripted(chat, lambda prompt, request: answer),
            judge=judge,
            documents=(Document("0", "A fact.", {}),),
            memory=(),
            show=lambda entry: pytest.fail("nothing is remembered"),
        )
        for slot in range(method.environments.per_cycle):
            write_designs(self.store, cycle, slot, 0, await design_slot(studio, slot))

    def designed(self, cycle: int = 0) -> tuple[int, EnvBatchStatus]:
        """Exit code of the worker that designs the cycle, and what the operator makes of its last words."""
        code = self.worked(
            DesignTask(
                run=self.run, cycle=cycle, policy_version=0, attempt=0, workers=1, engine_host="none.invalid",
                sandbox_host="none.invalid",
            )
        )  # fmt: skip
        batch = p.batch(cycle)
        name = f"mini-c{cycle:04d}-design-a0"
        job = p.job(name, Role.WORKER, owner_uid=batch.meta.uid, cycle=cycle)
        ended = (p.ended(code, self.words.read_text()),)
        pod = p.pod(Role.WORKER, "w", job=name, index=0, phase="Failed" if code else "Succeeded", containers=ended)
        seen = p.at_work(2 * cycle, batches=[batch], jobs=[job], pods={pod: None})
        return code, decide_batch(seen, batch, p.NOW)[1]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def of_run(batch: EnvBatchStatus) -> Value:
    """Metrics of the run whose first cycle ended so."""
    return scraped(decide(p.at_work(batches=[replace(p.batch(0), status=batch)]), p.NOW).status)


GOOD = '{"text": "One."}\n{"text": "Two."}\n'


@pytest.mark.parametrize(
    ("content", "documents"), [(GOOD, 2), ("", 0), ("\n\n", 0), ("not json\n", 0), ('{"text": ""}\n', 0)]
)
def test_run_with_a_corpus_without_documents_is_not_accepted(bench: Bench, content: str, documents: int) -> None:
    value = bench.prepared(content)
    assert value("spade_run_condition", condition=RunCondition.ACCEPTED) == (1 if documents else 0)
    assert value("spade_corpus_rows", state="documents") == documents


@pytest.mark.parametrize(("skill", "holds"), [("Optimization", 1), ("Juggling", 0)])
def test_run_with_an_unknown_skill_is_not_accepted(bench: Bench, skill: str, holds: int) -> None:
    value = bench.prepared(GOOD, skills=(skill,), active_skills=1)
    assert value("spade_run_condition", condition=RunCondition.ACCEPTED) == holds


def test_documents_of_no_words_are_counted_as_left_out(bench: Bench) -> None:
    value = bench.prepared(GOOD + '{"text": ""}\n{"text": "  "}\n')
    assert BEFORE("spade_corpus_rows", state="without_text") == 0
    assert value("spade_corpus_rows", state="without_text") == 2
    assert value("spade_corpus_rows", state="documents") == 2


@pytest.mark.parametrize(("profile", "left_out"), [(Profile.CORRECTED, 1), (Profile.PAPER, 0)])
def test_duplicates_are_counted_as_left_out_where_they_are(bench: Bench, profile: Profile, left_out: int) -> None:
    value = bench.prepared(GOOD + '{"text": "One."}\n', profile)
    assert value("spade_corpus_rows", state="duplicate") == left_out
    assert value("spade_corpus_rows", state="documents") == 3 - left_out


@contextmanager
def endpoint(body: str, status: int = 200) -> Iterator[str]:
    """An OpenAI-compatible endpoint that answers everything so; yields its URL."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asking(url: str) -> dict[str, Any]:
    """A designer behind an endpoint."""
    return {"source": "Endpoint", "endpoint": {"url": url, "model": "large", "requests_per_minute": 100_000}}


@pytest.mark.parametrize(
    ("reason", "body"),
    [
        ("empty", r'{"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}'),
        ("truncated", r'{"choices": [{"message": {"content": "```python\nclass A"}, "finish_reason": "length"}]}'),
    ],
)
def test_bad_answers_of_an_endpoint_are_counted_with_their_reason(bench: Bench, reason: str, body: str) -> None:
    with endpoint(body) as url:
        bench.begun(**asking(url))
        code, batch = bench.designed()
    assert code == ExitCode.DONE
    assert BEFORE("spade_environments_total", stage="parse", reason=reason) == 0
    assert of_run(batch)("spade_environments_total", stage="parse", reason=reason) == 2 * ATTEMPTS


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_run_whose_endpoint_refuses_it_fails_with_these_words(bench: Bench, status: int) -> None:
    with endpoint("no such model", status) as url:
        bench.begun(**asking(url))
        code, batch = bench.designed()
    assert code == ExitCode.NEVER
    assert any(f"status {status}: 'no such model'" in condition.message for condition in batch.conditions)
    assert BEFORE("spade_run_failure", reason="JobFailed") is None
    assert of_run(batch)("spade_run_failure", reason="JobFailed") == 1


async def in_vain(bench: Bench, answer: str, setting: str, cycle: int = 0) -> None:
    """A cycle of which no program was accepted."""
    await bench.answered(bench.begun(cycle, all_rejected=setting), answer, cycle)


def test_fences_that_never_close_are_counted_with_their_reason(bench: Bench) -> None:
    asyncio.run(in_vain(bench, "```python\nclass GEnv:\n    def reset(self, seed=None): ...\n", "Fail"))
    value = of_run(bench.designed()[1])
    assert value("spade_environments_total", stage="parse", reason="truncated") == 2 * ATTEMPTS


@pytest.mark.parametrize(("setting", "anew"), [("Fail", False), ("Pause", True)])
def test_run_of_which_all_programs_are_rejected_fails_for_that_reason(bench: Bench, setting: str, anew: bool) -> None:
    asyncio.run(in_vain(bench, "I would rather not.", setting))
    batch = bench.designed()[1]
    assert BEFORE("spade_run_failure", reason="AllRejected") is None
    assert of_run(batch)("spade_run_failure", reason="AllRejected") == 1
    said = " ".join(condition.message for condition in batch.conditions)
    assert ("Raise spec.retry to have the cycle designed anew" in said) is anew


def test_cycle_that_keeps_the_last_good_environments_is_counted(bench: Bench) -> None:
    asyncio.run(in_vain(bench, "I would rather not.", "KeepLast", cycle=1))
    batch = replace(p.batch(1), status=bench.designed(1)[1])
    before = p.run_record(p.holding(*p.AT_WORK, policy_version=2, rollout=2, cycle=1))
    seen = proven(3, run=before, batches=[batch], rollouts=[p.plays(2, "Complete", **RESULT)])
    assert scraped(before.status)("spade_kept_cycles_total") == 0
    value = scraped(decide(seen, p.NOW).status)
    assert value("spade_kept_cycles_total") == 1
    assert value("spade_run_failure", reason="AllRejected") is None
