"""A run whose model, designer or judge cannot be is refused by the API server, with what to write."""

from typing import Any

import pytest
from tests.support.api_server import ApiServer
from tests.support.run_objects import run_object

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a model that is not shipped": ({"model": {"uri": "package:maxi"}}, "write package:tiny, file:///PATH or hf:"),
    "a skill of the other domain": (
        {"environments": {"domain": "Tools", "skills": ["Optimization"], "activeSkills": 1}},
        "names a skill that the domain has not",
    ),
    "a designer's endpoint without a URL": (
        {"environments": {"designer": {"source": "Endpoint", "endpoint": {"model": "m"}}}},
        "with source Endpoint needs endpoint.url and endpoint.model",
    ),
    "a hints' endpoint without a model": (
        {"environments": {"hints": {"mode": "Endpoint", "endpoint": {"url": "https://host/v1"}}}},
        "with mode Endpoint needs endpoint.url and endpoint.model",
    ),
    "a pool without a digest": (
        {"environments": {"designer": {"source": "Pool", "pool": {"uri": "file:///storage/pool"}}}},
        "with source Pool needs pool.uri and pool.sha256",
    ),
    "a judge without a URL": (
        {"environments": {"verification": {"stages": ["Solution", "Judge"]}}},
        "stages holds Judge, which needs judge.url",
    ),
}
ACCEPTED: dict[str, dict[str, Any]] = {
    "endpoints": {
        "designer": {"source": "Endpoint", "endpoint": {"url": "https://host/v1", "model": "m"}},
        "hints": {"mode": "Endpoint", "endpoint": {"url": "https://host/v1", "model": "m"}},
    },
    "a pool, whose skills are nobody's": {
        "designer": {"source": "Pool", "pool": {"uri": "file:///storage/pool", "sha256": "0" * 64}},
        "skills": ["Juggling"],
        "activeSkills": 1,
    },
    "a judge": {"verification": {"stages": ["Judge"], "judge": {"url": "https://host/v1"}}},
    "skills in either spelling": {"domain": "Tools", "skills": ["Tool_Selection", "Data Retrieval"], "activeSkills": 1},
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(api_server: ApiServer, case: str) -> None:
    spec, says = REFUSED[case]
    applied = api_server.apply(run_object("refused", **spec))
    assert applied.returncode != 0
    assert says in applied.stderr


@pytest.mark.parametrize("case", ACCEPTED)
def test_accepts(api_server: ApiServer, case: str) -> None:
    name = f"designed{list(ACCEPTED).index(case)}"
    applied = api_server.apply(run_object(name, environments=ACCEPTED[case]))
    assert applied.returncode == 0, applied.stderr
