"""A pool is kept small by its namespace's bound and by failing starts, and says so; it grows when that is over."""

import json

from tests.integration.operator.conftest import Stage, condition, within
from tests.integration.operator.pretend_marks import role_of
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_run_life import complete
from tests.integration.operator.witness import Witness, most_pods

from spade_contracts.labels import Role
from spade_contracts.resources import RunCondition
from spade_operator.kube import Object

LIMITED = RunCondition.SCALING_LIMITED
CAP, BOTH = 3, ("mini", "other")
POOL = {"minPods": 1, "maxPods": 5, "sessionsPerPod": 8, "quietSeconds": 1}
MANY = 500
"""Sessions that want far more pods than any bound allows."""


def admitted(run: Object) -> int:
    return len(run["status"].get("admitted", {}))


def sandboxes(stage: Stage) -> list[Object]:
    return [pod for pod in stage.cluster.listed if role_of(pod) == Role.SANDBOX]


def told(stage: Stage, name: str = "mini") -> list[tuple[str, str]]:
    return [(event["type"], event["reason"]) for event in stage.events(name) if event["action"] == LIMITED]


async def test_pools_of_a_namespace_share_its_bound_and_one_grows_when_another_goes(stage: Stage) -> None:
    site = json.loads(stage.site_file.read_text())
    stage.site_file.write_text(json.dumps(site | {"sandboxPodsPerNamespace": CAP}))
    stage.cluster.world.hold_play = True
    witness = Witness(stage.server, stage.kube, stage.namespace)
    async with witness.watching(), stage.operator():
        for name in BOTH:
            await stage.create_run(name, rollouts=1, sandbox=POOL)
        for name in BOTH:
            await stage.until("play", playing, 60, name)
        stage.cluster.world.sessions_wanted = MANY
        for name in BOTH:
            found = await stage.until(
                "it says why", lambda run: (c := condition(run, LIMITED))[0] == "True" and c, 60, name
            )
            assert found[1] == "NamespaceFull"

        async def all_given() -> bool:
            return sum([admitted(await stage.run(name)) for name in BOTH]) == CAP

        assert await within(240, all_given)
        gone = stage.server.kubectl("delete", "spaderun", "other", "-n", stage.namespace, "--wait=false")
        assert gone.returncode == 0, gone.stderr
        await stage.until("the other's pods are its own now", lambda run: admitted(run) == CAP, 60)
        assert most_pods(await witness.history(), Role.SANDBOX) == CAP, "never more, draining ones included"
        stage.cluster.world.sessions_wanted = 0
        stage.cluster.world.hold_play = False
        run = await stage.until("completion", lambda run: complete(run) and run, 60)
    assert condition(run, LIMITED)[0] == "False"
    assert told(stage)[0] == ("Warning", "NamespaceFull")


async def test_failing_starts_stop_the_growth_at_a_trial_pod_and_cost_the_run_nothing(stage: Stage) -> None:
    world = stage.cluster.world
    world.hold_play = True
    await stage.create_run(rollouts=1, sandbox=POOL | {"restarts": 0})
    async with stage.operator():
        await stage.until("play", playing)
        world.no_image_for = "sandbox"
        world.sessions_wanted = MANY
        found = await stage.until("it says why", lambda run: (c := condition(run, LIMITED))[0] == "True" and c)
        assert found[1] == "StartsFail"
        assert "the registry does not answer" in found[2]

        await stage.until("one trial pod is left", lambda run: len(sandboxes(stage)) == 2)
        world.no_image_for = ""
        await stage.until("it grows to its maximum", lambda run: admitted(run) == POOL["maxPods"])
        run = await stage.until("it says so", lambda run: condition(run, LIMITED)[0] == "False" and run)
        assert "sandbox" not in run["status"].get("restarts", {})
        assert told(stage) == [("Warning", "StartsFail"), ("Normal", "WithinLimits")]
        world.hold_play = False
        await stage.until("completion", complete, 60)
