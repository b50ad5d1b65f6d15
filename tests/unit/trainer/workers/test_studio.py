"""A design worker asks the endpoints that a run names, with the run's keys, and counts what became of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from prometheus_client import generate_latest
from tests.unit.trainer.builders import method
from tests.unit.trainer.byte_model import write_byte_model, write_weights

from spade_contracts.config import MethodConfig
from spade_contracts.errors import InvalidInput
from spade_contracts.tasks import DesignTask, RunRef
from spade_contracts.verdicts import accepted
from spade_sandbox.verify import Judgement
from spade_trainer.design.corpus import Cut
from spade_trainer.design.corpus_index import index_corpus, write_index
from spade_trainer.design.designer import Studio, design_slot
from spade_trainer.play.engine_client import EnginePool
from spade_trainer.store.objects import Store, open_store
from spade_trainer.store.policies import finish
from spade_trainer.store.programs import read_with_digest
from spade_trainer.workers.figures import Figures, new_figures
from spade_trainer.workers.studio import studio_of
from spade_trainer.workers.surroundings import Surroundings

GAME = "class GEnv:\n    def reset(self, seed=None): ...\n    def step(self, action): ...\n"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = open_store((tmp_path / "run").as_uri())
    write_weights(write_byte_model(tmp_path / "run/policies/0000"))
    finish(store, 0)
    return store


async def judge(answer: str, names: tuple[str, ...]) -> Judgement:
    return Judgement(accepted(), answer)


async def judge_program(content: bytes) -> Judgement:
    return Judgement(accepted(), content.decode())


async def designed(store: Store, config: MethodConfig, figures: Figures, **keys: str) -> list[Any]:
    """The designs of slot 0, made by a studio whose engines are not there."""
    run = RunRef(namespace="default", name="mini", uid="u", storage_uri=store.uri)
    task = DesignTask(
        run=run, cycle=0, policy_version=0, attempt=0, workers=1, engine_host="none.invalid", sandbox_host=""
    )
    async with (
        EnginePool("none.invalid", "") as engines,
        studio_of(
            task,
            Surroundings(**keys),
            store,
            method=config,
            engines=engines,
            gate=lambda turns: (judge, judge_program),
            figures=figures,
        ) as studio,
    ):
        assert isinstance(studio, Studio)
        return list(await design_slot(studio, 0))


async def test_designer_and_hints_may_be_models_behind_endpoints_of_their_own(store: Store) -> None:
    asked: list[tuple[str | None, str]] = []

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append((request.headers.get("Authorization"), body["model"]))
        if len(asked) == 1:
            return web.Response(status=429, headers={"Retry-After": "0"})
        message = {"content": GAME if body["model"] == "designer" else "Look left."}
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})

    application = web.Application()
    application.router.add_post("/v1/chat/completions", answer)
    figures = new_figures()
    async with TestServer(application) as server:
        url = str(server.make_url("/v1"))
        paced = {"url": url, "requests_per_minute": 100_000}
        config = method(
            environments={
                "skills": ("Optimization", "Causal Inference"),
                "designer": {"source": "Endpoint", "endpoint": {**paced, "model": "designer"}},
                "hints": {"mode": "Endpoint", "endpoint": {**paced, "model": "hinter"}},
            }
        )
        (one,) = await designed(store, config, figures, designer_key="first", hints_key="second")
    assert asked == [("Bearer first", "designer")] * 2 + [("Bearer second", "hinter")]
    assert (one.answer, one.hint, one.trajectory.drawn_tokens) == (GAME, "Look left.", 0)
    assert (one.usage.requests, one.usage.prompt_tokens, one.usage.completion_tokens) == (3, 14, 6)
    shown = generate_latest(figures.registry).decode()
    assert 'spade_endpoint_requests_total{result="rate_limited",role="designer"} 1.0' in shown
    assert 'spade_endpoint_requests_total{result="answered",role="designer"} 1.0' in shown
    assert 'spade_endpoint_requests_total{result="answered",role="hints"} 1.0' in shown
    assert 'spade_endpoint_requests_total{result="refused",role="hints"} 0.0' in shown


async def test_document_of_a_hundred_thousand_words_is_cut_by_the_worker_and_counted(
    store: Store, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((await request.json())["messages"][-1]["content"])
        return web.json_response({"choices": [{"message": {"content": GAME}, "finish_reason": "stop"}]})

    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"text": "word " * 100_000}) + "\n")
    application = web.Application()
    application.router.add_post("/v1/chat/completions", answer)
    figures = new_figures()
    async with TestServer(application) as server:
        config = method(
            environments={
                "skills": ("Optimization", "Causal Inference"),
                "corpus": {"uri": corpus.as_uri(), "max_words": 6000},
                "designer": {
                    "source": "Endpoint",
                    "endpoint": {"url": str(server.make_url("/v1")), "model": "designer"},
                },
            },
            play={"hinted_plays": 0},
        )
        write_index(store, index_corpus(config.environments.corpus))
        await designed(store, config, figures)
    assert asked[0].count("word ") < 6100
    assert "[Document truncated at ~6000 words]" in asked[0]
    cuts = {cut: figures.registry.get_sample_value("spade_worker_documents_cut_total", {"limit": cut}) for cut in Cut}
    assert cuts == {Cut.WORDS: 1, Cut.TOKENS: 0, Cut.CONTEXT: 0}


async def test_pool_is_read_anew_and_must_be_the_same_in_every_cycle(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "pool"
    folder.mkdir()
    (folder / "game_00000_000_unknown.py").write_text(GAME)
    pool = {"uri": folder.as_uri(), "sha256": read_with_digest(folder.as_uri())[1]}
    config = method(environments={"designer": {"source": "Pool", "pool": pool}}, play={"hinted_plays": 0})
    (one,) = await designed(store, config, new_figures())
    assert (one.program, one.document_id) == (GAME, "game_00000_000_unknown.py")
    (folder / "game_00000_000_unknown.py").write_text(GAME + "# changed\n")
    with pytest.raises(InvalidInput, match="has the digest"):
        await designed(store, config, new_figures())
