"""A sandbox pool follows a load that steps up, spikes and falls: nobody is lost, nobody waits once there is room.

Sandboxes are real processes, sessions go through the client of the workers; the API server and the operator are real.
"""

from tests.integration.operator.conftest import Stage, within
from tests.integration.operator.load import Load, Player, loaded
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_drift import drifts
from tests.integration.operator.test_run_life import complete
from tests.integration.operator.witness import Witness, most_pods

from spade_contracts.labels import Role

PER_POD, LEAST, MOST = 2, 1, 3
POOL = {"minPods": LEAST, "maxPods": MOST, "sessionsPerPod": PER_POD, "quietSeconds": 1}
SPIKE = 3


async def until(load: Load, what: str, *, open_: int, waiting: int, pods: int) -> None:
    async def reached() -> bool:
        stats = load.pool.stats
        return (stats.open, stats.wanted, len(load.sandboxes)) == (open_, waiting, pods)

    last = load.moments[-1:]
    assert await within(240, reached), f"not within 240 s: {what}; {last}\n{load.stage.log.read_text()[-3000:]}"


def by_pod(players: list[Player]) -> dict[str, list[Player]]:
    return {pod: [player for player in players if player.pod == pod] for pod in {player.pod for player in players}}


async def test_pool_follows_steps_a_spike_and_a_fall_and_loses_nobody(stage: Stage) -> None:
    stage.cluster.world.hold_play = True
    witness = Witness(stage.server, stage.kube, stage.namespace)
    async with witness.watching(), loaded(stage) as load:
        await stage.create_run(rollouts=1, sandbox=POOL)
        async with stage.operator():
            await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))
            players = load.ask(PER_POD)
            await until(load, "the first pod is full", open_=PER_POD, waiting=0, pods=LEAST)
            players += load.ask(1)
            await until(load, "a step is met", open_=PER_POD + 1, waiting=0, pods=2)
            players += load.ask(MOST * PER_POD - len(players) + SPIKE)
            await until(load, "the maximum is full", open_=MOST * PER_POD, waiting=SPIKE, pods=MOST)
            seated = [player for player in players if player.opened_at is not None]
            stay = [held[0] for held in by_pod(seated).values()]
            assert len(stay) == MOST
            for player in seated:
                if player not in stay:
                    player.release.set()
            await until(load, "who waited is served", open_=MOST + SPIKE, waiting=0, pods=MOST)
            for player in players:
                if player not in stay:
                    player.release.set()
            leaving = MOST - -(-len(stay) // PER_POD)

            async def draining() -> bool:
                return load.moments[-1].draining == leaving

            assert await within(240, draining), load.moments[-5:]
            before = [player.turns for player in stay]

            async def stepped() -> bool:
                return all(player.turns > turns for player, turns in zip(stay, before, strict=True))

            assert await within(240, stepped), "sessions of draining pods go on"
            await load.end()
            await until(load, "the minimum is back", open_=0, waiting=0, pods=LEAST)
            stage.cluster.world.hold_play = False
            await stage.until("completion", complete, 60)
            run = await stage.run()
        history = await witness.history()
    assert [player.lost for player in players] == [""] * len(players)
    assert load.pool.stats.sessions == {"ok": len(players)}
    assert most_pods(history, Role.SANDBOX) == MOST, "draining pods count"
    assert "sandbox" not in run["status"].get("restarts", {})
    assert drifts(stage) == []
