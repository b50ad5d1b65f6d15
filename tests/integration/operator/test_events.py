"""What happens to a run is told where people look: Events that `kubectl describe` shows, once for each transition."""

import re

from tests.integration.operator.conftest import Stage, condition, within
from tests.integration.operator.test_run_life import complete


def reasons(stage: Stage, name: str = "mini") -> list[tuple[str, str, str]]:
    return [(event["type"], event["action"], event["reason"]) for event in stage.events(name)]


async def lists(stage: Stage, resource: str = "spaderuns") -> float:
    """How often the operator has listed objects of a kind."""
    pattern = rf'spade_api_requests_total\{{code="200",resource="{resource}",verb="list"\}} ([0-9.]+)'
    found = re.search(pattern, await stage.page("/metrics"))
    return float(found.group(1)) if found else 0.0


async def resynced(stage: Stage, times: int = 2) -> None:
    """Everything was listed and looked at so often again."""
    before = await lists(stage)

    async def again() -> bool:
        return await lists(stage) >= before + times

    assert await within(240, again), "no resync"


async def test_run_tells_its_beginning_and_its_end_once_and_a_resync_adds_nothing(stage: Stage) -> None:
    stage.resync_seconds = 5
    run = await stage.create_run(rollouts=2)
    async with stage.operator():
        await stage.until("completion", complete)
        await resynced(stage)
        told = reasons(stage)
        metrics = await stage.page("/metrics")
        await resynced(stage)
        assert reasons(stage) == told
        described = stage.server.kubectl("describe", "spaderun", "mini", "-n", stage.namespace).stdout
    # Nobody here makes a gated pod ready, so SandboxesReady stays as it began.
    parts = ("EnginesReady", "LearnerReady")
    assert told[0] == ("Normal", "Accepted", "Prepared")
    assert told[-1] == ("Normal", "Complete", "Finished")
    assert sorted(told[1:-1]) == sorted(
        [("Normal", "Isolated", "Proven"), *(("Normal", part, "Ready") for part in parts)]
    )
    assert told.index(("Normal", "Isolated", "Proven")) < told.index(("Normal", "EnginesReady", "Ready"))
    for event in stage.events():
        assert event["regarding"]["uid"] == run["metadata"]["uid"]
        assert event["reportingController"] == "spade.dev/operator"
        assert event["reportingInstance"]
        assert 0 < len(event["note"].encode()) <= 1024
    shown = described[described.index("Events:") :]
    assert shown.index("Prepared") < shown.index("Finished")
    assert f'spade_events_total{{result="posted",type="Normal"}} {len(told)}.0' in metrics
    assert 'spade_events_total{result="failed",type="Normal"} 0.0' in metrics
    assert 'spade_drift_repairs_total{kind="Service"} 0.0' in metrics
    for name in ("mini-c0000", "mini-r0000"):
        assert stage.events(name) == [], "ends of what a run makes for itself are its progress"


async def test_failure_and_retry_are_told(stage: Stage) -> None:
    stage.cluster.world.crash_learner = True
    await stage.create_run(rollouts=1, learner={"restarts": 0})
    async with stage.operator():
        await stage.until("it fails", lambda run: condition(run, "Failed")[0] == "True")
        stage.cluster.world.crash_learner = False
        await stage.change(retry=1)
        await stage.until("completion", complete, 60)

        async def finished() -> bool:
            return ("Normal", "Complete", "Finished") in reasons(stage)

        assert await within(240, finished)
    told = reasons(stage)
    assert ("Warning", "LearnerReady", "Restarting") in told
    failed = told.index(("Warning", "Failed", "RestartBudgetSpent"))
    assert failed < told.index(("Normal", "Failed", "Running"))
    (event,) = [event for event in stage.events() if event["reason"] == "RestartBudgetSpent"]
    assert "exit code 139" in event["note"]
