"""What `kubectl apply` takes and refuses of pods, for every role of a run and for an EnvBatch without one."""

import itertools
import json
from typing import Any

import pytest
from tests.support.api_server import ApiServer
from tests.support.pod_settings import (
    ADDITIONS,
    ADDITIONS_OUT_OF_BOUNDS,
    BAD_ADDITIONS,
    BAD_PLACEMENT,
    EVERYTHING,
    OUT_OF_BOUNDS,
    PLACEMENT,
)

from spade_contracts.resources import EnvBatchSpec, SpadeRunSpec

TRUSTED = ("learner", "engine", "workers")
ROLES = (*TRUSTED, "sandbox")
counter = itertools.count()


def run_with(role: str, settings: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A run whose role has these pod settings."""
    return {
        "apiVersion": "spade.dev/v1alpha1",
        "kind": "SpadeRun",
        "metadata": {"name": f"pods{next(counter)}", "namespace": "default"},
        "spec": {"model": {"uri": "package:tiny"}, "rollouts": 4, role: {"pod": settings}, **spec},
    }


def pool_with(pod: dict[str, Any], sandbox: dict[str, Any]) -> dict[str, Any]:
    """An EnvBatch without a run whose workers and sandboxes have these pod settings."""
    return {
        "apiVersion": "spade.dev/v1alpha1",
        "kind": "EnvBatch",
        "metadata": {"name": f"pods{next(counter)}", "namespace": "default"},
        "spec": {
            "source": {"programs": "file:///storage/programs"},
            "storage": {"claimName": "programs"},
            "pod": pod,
            "sandbox": {"pod": sandbox},
        },
    }


def with_settings(role: str, settings: dict[str, Any]) -> dict[str, Any]:
    """A run, or an EnvBatch without one, that has these settings for a role."""
    if role == "a pool's workers":
        return pool_with(settings, {})
    return pool_with({}, settings) if role == "a pool's sandboxes" else run_with(role, settings)


def test_every_role_takes_everything_that_it_may_have(api_server: ApiServer) -> None:
    whole = run_with("sandbox", PLACEMENT, **{role: {"pod": EVERYTHING} for role in TRUSTED})
    applied = api_server.apply(whole)
    assert applied.returncode == 0, applied.stderr
    stored = SpadeRunSpec.model_validate(api_server.get("spaderun", whole["metadata"]["name"])["spec"])
    assert stored == SpadeRunSpec.model_validate(whole["spec"])


def test_a_pool_takes_everything_that_it_may_have(api_server: ApiServer) -> None:
    whole = pool_with(EVERYTHING, PLACEMENT)
    applied = api_server.apply(whole)
    assert applied.returncode == 0, applied.stderr
    stored = EnvBatchSpec.model_validate(api_server.get("envbatch", whole["metadata"]["name"])["spec"])
    assert stored == EnvBatchSpec.model_validate(whole["spec"])


@pytest.mark.parametrize("role", [*ROLES, "a pool's workers", "a pool's sandboxes"])
def test_refuses_a_place_that_does_not_fit(api_server: ApiServer, role: str) -> None:
    objects = [with_settings(role, settings) for settings, _ in BAD_PLACEMENT.values()]
    said = dict(zip(BAD_PLACEMENT, api_server.refusals(*objects), strict=True))
    assert {case: text for case, text in said.items() if BAD_PLACEMENT[case][1] not in text} == {}


@pytest.mark.parametrize("role", [*TRUSTED, "a pool's workers"])
def test_refuses_an_addition_that_others_go_by(api_server: ApiServer, role: str) -> None:
    objects = [with_settings(role, settings) for settings, _ in BAD_ADDITIONS.values()]
    said = dict(zip(BAD_ADDITIONS, api_server.refusals(*objects), strict=True))
    assert {case: text for case, text in said.items() if BAD_ADDITIONS[case][1] not in text} == {}


def test_refuses_what_is_out_of_bounds_by_its_path(api_server: ApiServer) -> None:
    cases = OUT_OF_BOUNDS | ADDITIONS_OUT_OF_BOUNDS
    objects = [with_settings("workers", settings) for settings, _ in cases.values()]
    said = dict(zip(cases, api_server.refusals(*objects), strict=True))
    assert {case: text for case, text in said.items() if "spec.workers.pod" not in text} == {}
    assert {case: text for case, text in said.items() if cases[case][1] not in text} == {}


@pytest.mark.parametrize("role", ["sandbox", "a pool's sandboxes"])
def test_sandbox_pods_take_nothing_that_would_open_them(api_server: ApiServer, role: str) -> None:
    objects = [with_settings(role, {field: value}) for field, value in ADDITIONS.items()]
    for field, text in zip(ADDITIONS, api_server.refusals(*objects), strict=True):
        assert f'unknown field "spec.sandbox.pod.{field}"' in text


@pytest.mark.parametrize("role", ["sandbox", "a pool's sandboxes"])
def test_sandbox_pods_have_no_devices(api_server: ApiServer, role: str) -> None:
    objects = [with_settings(role, {"resources": {part: {"rdma/hca": "1"}}}) for part in ("requests", "limits")]
    for text in api_server.refusals(*objects):
        assert "sandbox pods have no devices" in text


@pytest.mark.parametrize("role", ROLES)
def test_each_setting_changes_only_while_the_run_is_paused(api_server: ApiServer, role: str) -> None:
    fields = PLACEMENT if role == "sandbox" else EVERYTHING
    before = run_with(role, {})
    changed = [{**before, "spec": {**before["spec"], role: {"pod": {name: value}}}} for name, value in fields.items()]
    assert api_server.apply(before).returncode == 0
    set_phase(api_server, before["metadata"]["name"], "Playing")
    for text in api_server.refusals(*changed):
        assert f"spec.{role}.pod can change only while the run is suspended or failed: set spec.suspend" in text
    set_phase(api_server, before["metadata"]["name"], "Suspended")
    accepted = api_server.apply(*changed)
    assert accepted.returncode == 0, accepted.stderr


def set_phase(server: ApiServer, name: str, phase: str) -> None:
    """Write a phase as the operator would."""
    patch = json.dumps({"status": {"phase": phase}})
    patched = server.kubectl("patch", "spaderun", name, "--subresource=status", "--type=merge", "-p", patch)
    assert patched.returncode == 0, patched.stderr
