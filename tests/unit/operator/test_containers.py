"""Of a container is kept what says why it ended and what that is to be measured by; what is missing is nothing."""

import pytest

from spade_operator.containers import container_record


@pytest.mark.parametrize(
    ("probe", "seconds"),
    [({}, 30), ({"periodSeconds": 2, "failureThreshold": 900}, 1800), ({"periodSeconds": 5}, 15), (None, 0)],
)
def test_probe_is_kept_by_how_long_it_may_fail(probe: dict[str, int] | None, seconds: int) -> None:
    wanted = (
        {} if probe is None else {"startupProbe": probe or {"httpGet": {}}, "livenessProbe": probe or {"httpGet": {}}}
    )
    found = container_record({"name": "main"}, wanted)
    assert (found.startup_seconds, found.liveness_seconds) == (seconds, seconds)


def test_life_of_the_last_container_is_measured() -> None:
    ended = {"exitCode": 1, "startedAt": "2026-01-01T10:00:00Z", "finishedAt": "2026-01-01T10:01:30Z"}
    assert container_record({"name": "main", "lastState": {"terminated": ended}}, {}).last_seconds == 90.0
    assert container_record({"name": "main", "lastState": {"terminated": {"exitCode": 1}}}, {}).last_seconds is None


def test_memory_limit_is_the_pods_own_and_a_container_without_a_spec_has_none() -> None:
    wanted = {"resources": {"limits": {"memory": "5Gi"}}}
    assert container_record({"name": "main"}, wanted).memory_limit == "5Gi"
    assert container_record({"name": "main"}, {}).memory_limit == ""
