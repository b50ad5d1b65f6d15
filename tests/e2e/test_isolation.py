"""A run does not start unless gVisor and the closed network are proven from inside a sandbox pod."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.e2e.deployment import deploy
from tests.e2e.kube import Cluster, Object, apply, condition, get, items, kubectl, wait_until
from tests.e2e.runs import NAMESPACE, mini_run

REFUSED_SECONDS = 240


@contextmanager
def installed_with(cluster: Cluster, *values: str) -> Iterator[None]:
    """The chart with other values, and with its own again afterwards."""
    deploy(cluster, *values)
    try:
        yield
    finally:
        deploy(cluster)


def refusal(cluster: Cluster, name: str) -> Object:
    """The run once its condition Isolated is False for a reason other than waiting."""

    def refused() -> Object | None:
        seen = get(cluster, "spaderun", name, NAMESPACE)
        status, reason, _ = condition(seen, "Isolated")
        return seen if status == "False" and reason not in ("Probing", "Starting", "Waiting") else None

    return wait_until(
        f"run {name} is refused", refused, REFUSED_SECONDS, lambda: str(get(cluster, "spaderun", name, NAMESPACE))
    )


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("on-runc", "sandbox.runtimeClassName=runc-for-tests", "NotGVisor"),
        ("open-network", "networkPolicies.manage=false", "NetworkOpen"),
    ],
)
def test_run_does_not_start_without_proven_isolation(operator: Cluster, name: str, value: str, reason: str) -> None:
    with installed_with(operator, value):
        apply(operator, mini_run(name))
        try:
            assert condition(refusal(operator, name), "Isolated")[1] == reason
            for role in ("engine", "learner", "worker"):
                selector = f"spade.dev/run={name},spade.dev/role={role}"
                assert not items(operator, "pods", NAMESPACE, selector), f"{role} was started"
        finally:
            kubectl(operator, "delete", "spaderun", name, "-n", NAMESPACE, "--wait=true")
            wait_until("its pods are gone", lambda: not items(operator, "pods", NAMESPACE, f"spade.dev/run={name}"), 60)
