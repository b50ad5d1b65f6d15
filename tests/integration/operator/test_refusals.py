"""A run that must not start does not start, says why, and starts when the reason is gone."""

from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.test_run_life import complete

from spade_operator.kube import Object
from spade_operator.records import Kind


def refused(kind: str, reason: str):
    def look(run: Object) -> Object | None:
        return run if condition(run, kind)[:2] == ("False", reason) else None

    return look


async def test_spec_that_cannot_run_is_not_accepted_and_holds_up_nobody_else(stage: Stage) -> None:
    stage.serve_all_namespaces()
    await stage.create_run(model={"uri": "ftp://somewhere"})
    async with stage.operator():
        run = await stage.until("refusal", refused("Accepted", "InvalidSpec"))
        assert "spec.model.uri" in condition(run, "Accepted")[2]
        await stage.create_run("good", rollouts=1)
        await stage.until("another run is not held up", complete, name="good")
    assert {p["metadata"]["labels"]["spade.dev/run"] for p in await stage.items(Kind.SERVICE)} == {"good"}


async def test_run_that_a_quota_will_never_hold_waits_until_it_does(stage: Stage) -> None:
    def quota(pods: int) -> Object:
        meta = {"name": "small", "namespace": stage.namespace}
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"pods": str(pods)}}}

    assert stage.server.apply(quota(3)).returncode == 0
    async with stage.operator():
        await stage.create_run(rollouts=1)
        run = await stage.until("refusal", refused("Accepted", "QuotaExceeded"))
        assert "Quota small is smaller than the run: pods 5 is needed, 3 is there." in condition(run, "Accepted")[2]
        assert [event["reason"] for event in stage.events()] == ["QuotaExceeded"]
        assert not await stage.items(Kind.JOB)
        assert stage.server.apply(quota(30)).returncode == 0
        await stage.until("completion", complete, 90)


async def test_refused_preparation_is_shown_and_repeated_by_retry(stage: Stage) -> None:
    stage.cluster.world.accepted = False
    await stage.create_run(rollouts=1)
    async with stage.operator():
        run = await stage.until("refusal", refused("Accepted", "ModelNotMoe"))
        assert "no experts" in condition(run, "Accepted")[2]
        assert not await stage.items(Kind.DEPLOYMENT)
        stage.cluster.world.accepted = True
        await stage.change(retry=1)
        await stage.until("completion", complete)


async def test_run_whose_gate_lets_a_known_bad_program_through_stops_and_says_so_until_it_does_not(
    stage: Stage,
) -> None:
    stage.cluster.world.false_accepts = 1
    await stage.create_run(rollouts=1)
    async with stage.operator():
        run = await stage.until(
            "the stop", lambda r: r if condition(r, "Failed")[:2] == ("True", "GateFalseAccept") else None
        )
        assert "first_step_is_enough" in condition(run, "Failed")[2]
        assert "spec.retry" in condition(run, "Failed")[2]
        assert run["status"]["canaries"] == {"bad": 4, "good": 4, "false_accepts/order": 1}
        (batch,) = await stage.items(Kind.BATCH)
        assert condition(batch, "Verified")[:2] == ("False", "GateFalseAccept")
        assert condition(batch, "Complete")[:2] == ("False", "GateFalseAccept")
        assert (stage.cluster.world.designed, stage.cluster.world.played) == ([], [])
        metrics = await stage.page("/metrics")
        labels = f'namespace="{stage.namespace}",run="mini",stage="order"'
        assert f"spade_gate_false_accepts_total{{{labels}}} 1.0" in metrics
        stage.cluster.world.false_accepts = 0
        await stage.change(retry=1)
        run = await stage.until("completion", lambda r: r if complete(r) else None)
        assert run["status"]["canaries"] == {"bad": 8, "good": 8, "false_accepts/order": 1}


async def test_run_in_no_gvisor_does_not_start(stage: Stage) -> None:
    stage.cluster.world.gvisor = False
    await stage.create_run(rollouts=1)
    async with stage.operator():
        await stage.until("refusal", refused("Isolated", "NotGVisor"))
        await _only_sandbox_and_beacon(stage)


async def test_run_in_an_open_network_does_not_start(stage: Stage) -> None:
    stage.cluster.world.network_open = True
    await stage.create_run(rollouts=1)
    async with stage.operator():
        run = await stage.until("refusal", refused("Isolated", "NetworkOpen"))
        assert "outside" in condition(run, "Isolated")[2]
        await _only_sandbox_and_beacon(stage)


async def _only_sandbox_and_beacon(stage: Stage) -> None:
    pods = await stage.items(Kind.POD)
    assert {p["metadata"]["labels"]["spade.dev/role"] for p in pods} <= {"sandbox", "beacon", "prepare"}
    for pod in pods:
        if pod["metadata"]["labels"]["spade.dev/role"] == "sandbox":
            assert not [c for c in pod["status"]["conditions"] if c["type"] == "spade.dev/isolated"]
