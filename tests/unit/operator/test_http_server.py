"""The operator's port tells its health, all its metrics or those that are asked for, and how a run is doing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from tests.support import pictures as p

from spade_operator.facts import Facts
from spade_operator.http_server import make_app
from spade_operator.metrics import make_telemetry


@asynccontextmanager
async def port(facts: Facts, wrong: str = "") -> AsyncIterator[tuple[TestClient[web.Request, web.Application], str]]:
    """A client of the port, and the whole page of metrics."""
    registry = make_telemetry(facts).registry
    async with TestClient(TestServer(make_app(facts, registry, lambda: wrong))) as client:
        yield client, generate_latest(registry).decode()


def with_run() -> Facts:
    facts = Facts()
    facts.put(p.run_record())
    return facts


async def test_page_holds_all_metrics() -> None:
    async with port(with_run()) as (client, whole):
        answer = await client.get("/metrics")
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert (await answer.text()) == whole


async def test_page_can_be_asked_for_some_metrics_of_runs_and_of_the_operator_itself() -> None:
    names = {"spade_rollout", "spade_episodes_total", "spade_operator_up"}
    async with port(with_run()) as (client, whole):
        text = await (await client.get("/metrics", params=[("name[]", name) for name in names])).text()
    assert {sample.name for family in text_string_to_metric_families(text) for sample in family.samples} == names
    assert set(text.splitlines()) <= set(whole.splitlines())


async def test_unknown_names_give_an_empty_page() -> None:
    async with port(Facts()) as (client, _):
        answer = await client.get("/metrics", params={"name[]": "no_such_metric"})
        assert (answer.status, await answer.text()) == (200, "")


async def test_health_says_what_is_wrong() -> None:
    async with port(Facts()) as (client, _):
        assert (await client.get("/healthz")).status == 200
    async with port(Facts(), "no polling round for 40 s") as (client, _):
        answer = await client.get("/healthz")
        assert (answer.status, await answer.text()) == (503, "no polling round for 40 s\n")


async def test_run_is_shown_by_its_name_and_an_unknown_one_is_not_found() -> None:
    run = p.run_record()
    async with port(with_run()) as (client, _):
        assert (await client.get(f"/runs/{run.meta.namespace}/{run.meta.name}")).status == 200
        assert (await client.get(f"/runs/{run.meta.namespace}/other")).status == 404
