"""Workers run the procedural families: no designer is asked, programs are played in a sandbox, levels rise."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.component.workers.runs import WORKERS, SmallRun, finished, prepared, settings, small_run, start, trained
from tests.component.workers.scripted_engine import ScriptedEngine, serving
from tests.support.sandbox_pods import pod_in_namespaces

from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import DesignerSource
from spade_contracts.config.families import Family
from spade_contracts.engine_api import GenerateRequest
from spade_contracts.tasks import DesignTask, PlayTask
from spade_trainer.chat import load_chat
from spade_trainer.store import manifests
from spade_trainer.store.episodes import read_episodes
from spade_trainer.store.objects import open_store
from spade_trainer.workers.model_source import resolve_model

NAMES = (Family.MULTIPLICATION, Family.EUCLID_GAME, Family.DIVISION)
ROLLOUTS = 4


@dataclass
class Calculator(ScriptedEngine):
    """Multiplies, divides wrongly, and says nothing else of use."""

    def answer(self, request: GenerateRequest) -> str:
        prompt = self.chat.tokenizer.decode(list(request.token_ids), skip_special_tokens=False)
        if product := re.search(r"What is (\d+) times (\d+)\?", prompt):
            return f"It is \\boxed{{{int(product[1]) * int(product[2])}}}"
        return "\\boxed{0}" if "Divide" in prompt else "I do not know."


def of_families() -> MethodConfig:
    """A problem of each family in every rollout, and a look at the level after each."""
    method = settings()
    environments = method.environments
    return method.model_copy(
        update={
            "environments": environments.model_copy(
                update={
                    "cycle_length": 1,
                    "designer": environments.designer.model_copy(update={"source": DesignerSource.FAMILIES}),
                    "families": environments.families.model_copy(update={"names": NAMES, "attempts": 3}),
                }
            )
        }
    )


async def worked(run: SmallRun, task: DesignTask | PlayTask) -> None:
    """Every worker of a Job, to its end."""
    await finished([await start(run, task, index) for index in range(WORKERS)])


async def test_a_run_of_families_trains_plays_only_and_grows_harder_where_it_is_right(tmp_path: Path) -> None:
    engine = Calculator(load_chat(resolve_model("package:tiny")))
    with pod_in_namespaces() as pod:
        pod.tried()
        async with serving(engine) as address:
            run = small_run(tmp_path / "run", address, pod.target)
            assert (await prepared(run, method=of_families())).accepted
            for rollout in range(ROLLOUTS):
                engine.policy_version = rollout
                await worked(run, run.design_task(rollout).model_copy(update={"policy_version": rollout}))
                assert len(engine.requests) == 9 * rollout
                await worked(run, run.play_task(rollout).model_copy(update={"cycle": rollout}))
                step = trained(run, rollout, last=rollout == ROLLOUTS - 1)
                assert (step.designer_samples, step.player_samples) == (0, 9)
    store = open_store(run.run.storage_uri)
    batches = [manifests.read_batch(store, cycle) for cycle in range(ROLLOUTS)]
    assert [[entry.skill for entry in batch.environments] for batch in batches] == [list(NAMES)] * ROLLOUTS
    levels = [[int(entry.document_id.partition("/")[2]) for entry in batch.environments] for batch in batches]
    assert levels[0] == [0, 0, 0]
    assert max(level[0] for level in levels) > 0
    assert {tuple(level[1:]) for level in levels} == {(0, 0)}
    for rollout in range(ROLLOUTS):
        played = manifests.read_rollout(store, rollout)
        assert [set(entry.unhinted) for entry in played.environments] == [{1.0}, {0.0}, {0.0}]
        episodes = read_episodes(store, played)
        assert {(episode.turns, episode.hinted) for episode in episodes} == {(1, False)}
        assert len({episode.seed for episode in episodes}) == 3
