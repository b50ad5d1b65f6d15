"""With `apiPriority` the API server serves the operator in a level of its own, and its Lease in queues of its own."""

import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from tests.support.api_server import ApiServer
from tests.support.helm import one, render

VALUES = {"apiPriority": {"create": True}}
KINDS = ("PriorityLevelConfiguration", "FlowSchema")
PODS, LEASES = "/api/v1/pods", "/apis/coordination.k8s.io/v1/namespaces/spade-system/leases/spade-operator-lease"


@pytest.fixture(scope="module")
def served(installed: ApiServer) -> Iterator[ApiServer]:
    objects = [item for item in render(VALUES) if item["kind"] in KINDS]
    assert len(objects) == 3
    applied = installed.apply(*objects)
    assert applied.returncode == 0, applied.stderr
    yield installed
    for item in objects:
        installed.kubectl("delete", item["kind"], item["metadata"]["name"])


def headers(server: ApiServer, account: str, path: str) -> tuple[str, str]:
    """UIDs of the level and the schema that served a call."""
    token = server.kubectl("create", "token", account, "-n", "spade-system").stdout.strip()
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {token}"})
    context = ssl.create_default_context(cafile=str(server.authority))
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            found = answer.headers
    except urllib.error.HTTPError as error:
        found = error.headers
    return found["X-Kubernetes-PF-PriorityLevel-UID"], found["X-Kubernetes-PF-FlowSchema-UID"]


def uid(server: ApiServer, kind: str, name: str) -> str:
    return str(server.get(kind, name)["metadata"]["uid"])


def test_the_operators_calls_have_their_own_level(served: ApiServer) -> None:
    level = uid(served, "prioritylevelconfiguration", "spade-operator")
    wanted = {
        path: (level, uid(served, "flowschema", f"spade-operator-{flow}"))
        for path, flow in ((PODS, "all"), (LEASES, "lease"))
    }
    deadline = time.monotonic() + 30
    while {path: headers(served, "spade-operator", path) for path in wanted} != wanted:
        assert time.monotonic() < deadline, "the API server does not take the schemas into use"
        time.sleep(0.2)


def test_nobody_elses_calls_are_in_it(served: ApiServer) -> None:
    assert served.kubectl("create", "serviceaccount", "somebody", "-n", "spade-system").returncode == 0
    level = uid(served, "prioritylevelconfiguration", "spade-operator")
    assert headers(served, "somebody", PODS)[0] not in ("", level)


def test_the_level_is_bounded_and_lends_what_it_does_not_need() -> None:
    limited = one(render(VALUES), "PriorityLevelConfiguration")["spec"]["limited"]
    assert (limited["nominalConcurrencyShares"], limited["lendablePercent"]) == (20, 50)
    assert {item["kind"] for item in render()}.isdisjoint(KINDS)
