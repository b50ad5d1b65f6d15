"""Two namespaces: an operator for each sees nothing of the other; one for both asks for nothing that it may not."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from tests.integration.operator.conftest import Stage, staged
from tests.integration.operator.test_run_life import complete
from tests.support.accounts import kubeconfig_of
from tests.support.api_server import ApiServer
from tests.support.audit import calls_of, forbidden, granted
from tests.support.helm import render

from spade_operator.kube import Object
from spade_operator.records import Kind

Pair = tuple[Stage, Stage]
CLUSTER_WIDE = ("ClusterRole", "ClusterRoleBinding")


@pytest_asyncio.fixture
async def pair(api_server: ApiServer, chart_rights: str, tmp_path: Path) -> AsyncIterator[Pair]:
    """Two tenants' namespaces, each with a cluster of its own to run pods on."""
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
    async with (
        staged(api_server, chart_rights, folders[0]) as first,
        staged(api_server, chart_rights, folders[1]) as second,
    ):
        yield first, second


async def both_complete(pair: Pair) -> None:
    """A run of the same name in each namespace, to its end."""
    for stage in pair:
        await stage.create_run(rollouts=1)
    await asyncio.gather(*(stage.until("completion", complete, 90) for stage in pair))


def namespaces_asked(stage: Stage) -> set[str]:
    """Where the operator's calls went; '' for those to the whole cluster."""
    calls = calls_of(stage.server.audit_log, f"{stage.namespace}:spade-operator")
    return {call["objectRef"].get("namespace", "") for call in calls if "resource" in call.get("objectRef", {})}


async def test_an_operator_for_each_namespace_never_asks_for_anything_of_the_other(pair: Pair) -> None:
    first, second = pair
    async with first.operator(), second.operator():
        await both_complete(pair)
    for stage, other in ((first, second), (second, first)):
        assert namespaces_asked(stage) == {stage.namespace}
        asked = ("auth", "can-i", "list", "spaderuns.spade.dev", "-n", other.namespace)
        refused = stage.server.kubectl("--kubeconfig", str(stage.kubeconfig), *asked)
        assert refused.stdout.strip() == "no"


def cluster_wide(stage: Stage) -> list[Object]:
    """The chart's ClusterRole and its binding to this stage's operator, under names of their own."""
    objects = [item for item in render({}, namespace=stage.namespace) if item["kind"] in CLUSTER_WIDE]
    text = json.dumps(objects).replace('"name": "spade-operator"', f'"name": "spade-operator-{stage.namespace}"')
    renamed: list[Object] = json.loads(text)
    for item in renamed:
        for subject in item.get("subjects", ()):
            subject["name"] = "spade-operator"
    return renamed


async def test_one_operator_serves_both_with_the_rights_of_the_chart(pair: Pair) -> None:
    first, second = pair
    rights = cluster_wide(first)
    applied = await asyncio.to_thread(first.server.apply, *rights)
    assert applied.returncode == 0, applied.stderr
    account = first.kubeconfig
    first.serve_all_namespaces()
    first.kubeconfig = kubeconfig_of(first.server, first.namespace, "spade-operator", account)
    try:
        async with first.operator():
            await both_complete(pair)
    finally:
        for item in rights:
            await asyncio.to_thread(first.server.kubectl, "delete", item["kind"], item["metadata"]["name"])
    calls = calls_of(first.server.audit_log, f"{first.namespace}:spade-operator")
    ours = [call for call in calls if call.get("objectRef", {}).get("namespace", "") in ("", *_names(pair))]
    assert {stage.namespace for stage in pair} <= namespaces_asked(first)
    assert forbidden(ours) == []
    assert not await second.items(Kind.POD)


def _names(pair: Pair) -> tuple[str, str]:
    return pair[0].namespace, pair[1].namespace


def test_both_installations_have_the_same_rights_but_for_a_look_at_the_cluster(chart_rights: str) -> None:
    wide, narrow = granted(render({})), granted(json.loads(chart_rights)["items"])
    assert narrow <= wide
    assert {(right.resource, right.verb) for right in wide - narrow} == {
        (resource, "list") for resource in ("nodes", "runtimeclasses", "priorityclasses", "storageclasses")
    }
