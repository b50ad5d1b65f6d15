"""What `kubectl apply` takes and refuses of an EnvBatch without a run, with the message that says what to write."""

import itertools
from typing import Any

import pytest
from tests.support.api_server import ApiServer

counter = itertools.count()


@pytest.fixture
def name() -> str:
    """A name no other test uses."""
    return f"pool{next(counter)}"


def pool_object(name: str, **spec: Any) -> dict[str, Any]:
    """The smallest EnvBatch without a run, with fields of spec over it; None removes one."""
    whole = {"source": {"programs": "file:///storage/programs"}, "storage": {"claimName": "programs"}, **spec}
    return {
        "apiVersion": "spade.dev/v1alpha1",
        "kind": "EnvBatch",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {field: value for field, value in whole.items() if value is not None},
    }


def test_a_pool_needs_only_programs_and_a_claim(api_server: ApiServer, name: str) -> None:
    applied = api_server.apply(pool_object(name))
    assert applied.returncode == 0, applied.stderr
    stored = api_server.get("envbatch", name)["spec"]
    assert stored == {
        "source": {"programs": "file:///storage/programs", "domain": "Games"},
        "storage": {"claimName": "programs"},
        "workers": 1,
    }


REFUSED_POOLS: dict[str, tuple[dict[str, Any], str]] = {
    "neither source nor run": ({"source": None}, "write spec.source to have existing programs verified"),
    "source beside a run": ({"run": "mini", "cycle": 0, "policyVersion": 0}, "never stands beside it"),
    "no claim": ({"storage": None}, "spec.storage.claimName is missing: name the claim that holds the programs"),
    "a claim without a name": ({"storage": {}}, "spec.storage.claimName"),
    "programs outside of the claim": ({"source": {"programs": "s3://bucket/x"}}, "write file:///storage/PATH"),
    "programs above the claim": ({"source": {"programs": "file:///storage/../etc"}}, "write file:///storage/PATH"),
    "a run's fields": ({"cycle": 1}, "cycle and policyVersion are a run's"),
    "an unknown domain": ({"source": {"programs": "file:///storage/x", "domain": "Puzzles"}}, '"Games", "Tools"'),
    "an unknown stage": ({"verification": {"stages": ["Magic"]}}, "spec.verification.stages"),
    "a limit out of bounds": ({"sandbox": {"limits": {"memoryBytes": 1}}}, "spec.sandbox.limits.memoryBytes"),
    "fewer pods at most than at least": (
        {"sandbox": {"minPods": 8, "maxPods": 4}},
        "minPods (8) is more than maxPods (4): lower minPods or raise maxPods",
    ),
    "an unknown field, by its path": ({"sandbox": {"pods": 1}}, 'unknown field "spec.sandbox.pods"'),
}


@pytest.mark.parametrize("case", REFUSED_POOLS)
def test_what_is_refused_of_a_pool(api_server: ApiServer, name: str, case: str) -> None:
    fields, message = REFUSED_POOLS[case]
    refused = api_server.apply(pool_object(name, **fields))
    assert refused.returncode != 0, f"{case} was accepted"
    assert message in refused.stderr


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", {"programs": "file:///storage/other"}),
        ("source", {"programs": "file:///storage/programs", "domain": "Tools"}),
        ("storage", {"claimName": "other"}),
        ("verification", {"maxSteps": 99}),
        ("sandbox", {"limits": {"cpuSeconds": 9}}),
        ("workers", 2),
    ],
)
def test_what_decides_a_pools_verdicts_never_changes(api_server: ApiServer, name: str, field: str, value: Any) -> None:
    api_server.apply(pool_object(name))
    changed = api_server.apply(pool_object(name, **{field: value}))
    assert changed.returncode != 0
    assert "cannot change once the batch exists: make a new EnvBatch with another name" in changed.stderr


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("suspend", "Now"),
        ("retry", 1),
        ("restarts", 9),
        ("sandbox", {"maxPods": 9}),
        ("pod", {"nodeSelector": {"disk": "fast"}}),
    ],
)
def test_what_may_change_of_a_pool(api_server: ApiServer, name: str, field: str, value: Any) -> None:
    api_server.apply(pool_object(name))
    changed = api_server.apply(pool_object(name, **{field: value}))
    assert changed.returncode == 0, changed.stderr


def test_a_pools_retry_may_only_grow(api_server: ApiServer, name: str) -> None:
    api_server.apply(pool_object(name, retry=2))
    changed = api_server.apply(pool_object(name, retry=1))
    assert changed.returncode != 0
    assert "write a larger number to try again" in changed.stderr


@pytest.mark.parametrize("field", ["storage", "sandbox", "suspend", "retry", "pod", "verification", "restarts"])
def test_a_runs_batch_says_nothing_that_its_run_says(api_server: ApiServer, name: str, field: str) -> None:
    values: dict[str, Any] = {"storage": {"claimName": "c"}, "suspend": "Now", "retry": 1, "restarts": 1}
    fields = {"source": None, "storage": None, "run": "mini", "cycle": 0, "policyVersion": 0}
    refused = api_server.apply(pool_object(name, **{**fields, field: values.get(field, {})}))
    assert refused.returncode != 0
    assert "nothing that its SpadeRun says: use spec.source for programs without a run" in refused.stderr
