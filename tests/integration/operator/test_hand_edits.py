"""What people write by hand where the operator writes: refused, or told in a condition, and never acted on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.integration.operator.conftest import Stage, condition, within
from tests.integration.operator.test_run_life import complete
from tests.support.api_server import ApiServer

from spade_operator.kube import Object
from spade_operator.records import Kind

CRD = Path(__file__).parents[3] / "crds/spaderuns.yaml"
STATUS = ("--subresource=status", "--type=merge", "-p")


def without_bounds(node: Object) -> Object:
    return {
        key: without_bounds(inner) if isinstance(inner, dict) else inner
        for key, inner in node.items()
        if key not in ("minimum", "maximum")
    }


@pytest.fixture
def unbounded(api_server: ApiServer) -> Iterator[str]:
    """SpadeRun's definition with a status that takes any number; ours is back afterwards."""
    theirs = yaml.safe_load(CRD.read_text())
    properties = theirs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    properties["status"] = without_bounds(properties["status"])
    define(api_server, json.dumps(theirs))
    yield CRD.read_text()
    define(api_server, CRD.read_text())


def define(server: ApiServer, definition: str) -> None:
    applied = server.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=definition)
    assert applied.returncode == 0, applied.stderr


def edit(stage: Stage, status: Object) -> str:
    """What the API server says to a status that somebody writes into the run; empty when it is taken."""
    said = stage.server.kubectl("patch", "spaderun", "mini", "-n", stage.namespace, *STATUS, json.dumps(status))
    return said.stderr


async def test_status_with_negative_numbers_is_refused(stage: Stage) -> None:
    await stage.create_run(rollouts=1)
    for field in ("rollout", "learnerAttempt"):
        assert f"status.{field}" in edit(stage, {"status": {field: -5}})


async def test_status_from_before_the_bounds_is_told_and_the_run_goes_on_when_it_is_corrected(
    stage: Stage, unbounded: str
) -> None:
    await stage.create_run(rollouts=1)

    async def taken() -> bool:
        return not edit(stage, {"status": {"rollout": -5, "learnerAttempt": -7}})

    assert await within(240, taken)
    define(stage.server, unbounded)
    async with stage.operator():
        run = await stage.until(
            "it says so", lambda run: run if condition(run, "Progressing")[1] == "StatusUnreadable" else None
        )
        assert "status.rollout" in condition(run, "Progressing")[2]
        assert run["status"]["learnerAttempt"] == -7
        assert [event["reason"] for event in stage.events()] == ["StatusUnreadable"]
        assert not await stage.items(Kind.JOB)
        assert edit(stage, {"status": {"rollout": 0, "learnerAttempt": 0}}) == ""
        await stage.until("completion", complete, 90)
    assert "Traceback" not in stage.log.read_text()


async def test_unit_of_a_run_that_is_not_there_says_so(stage: Stage) -> None:
    for kind, spec in (
        (Kind.BATCH, {"run": "absent", "cycle": 0, "policyVersion": 0}),
        (Kind.ROLLOUT, {"run": "absent", "rollout": 0, "cycle": 0, "policyVersion": 0}),
    ):
        meta = {"name": "by-hand", "namespace": stage.namespace}
        await stage.kube.create({"apiVersion": "spade.dev/v1alpha1", "kind": str(kind), "metadata": meta, "spec": spec})
    async with stage.operator():
        for kind in (Kind.BATCH, Kind.ROLLOUT):
            unit = await stage.until(
                "it says so",
                lambda unit: unit if condition(unit, "Complete")[1] == "RunNotFound" else None,
                name="by-hand",
                kind=kind,
            )
            assert f"There is no SpadeRun {stage.namespace}/absent" in condition(unit, "Complete")[2]
