"""A play worker plays programs of either domain, and what it wrote can be trained and replayed."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trainer.builders import design, method, run_manifest, write_cycle
from tests.unit.trainer.byte_model import real_template, write_byte_model, write_weights
from tests.unit.trainer.fakes import scripted
from tests.unit.trainer.programs_here import PoolHere

from spade_cli.episodes import play_again, read_recorded
from spade_contracts.engine_api import GenerateRequest
from spade_contracts.manifests import RolloutManifest
from spade_contracts.tasks import PlayTask, RunRef
from spade_sandbox.verify import canary_programs
from spade_trainer.assembly import assemble
from spade_trainer.chat import load_chat
from spade_trainer.play.engine_client import EngineFigures
from spade_trainer.play.episode import Generate
from spade_trainer.rewards.summary import mean_hint_regret
from spade_trainer.store import layout, manifests
from spade_trainer.store.episodes import read_episodes
from spade_trainer.store.objects import local_path, open_store
from spade_trainer.store.policies import finish, policy_files
from spade_trainer.workers import play as module
from spade_trainer.workers.figures import new_figures
from spade_trainer.workers.progress import Progress
from spade_trainer.workers.surroundings import Surroundings

PARTS = ("bolt", "cable", "dowel", "filter", "gasket", "hinge")
PROGRAM = (Path(canary_programs.__path__[0]) / "tools" / "good" / "warehouse_stock.py").read_text()
GAME = """
class CountEnv(Env):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        self.reset()

    def reset(self, seed=None):
        self.left = 2
        return f"{self.left} to go. Send \\\\boxed{{down}}.", {}

    def step(self, action):
        self.left -= action == "\\\\boxed{down}"
        return f"{self.left} to go.", 1.0 if self.left == 0 else 0.0, self.left == 0, False, {}
"""


@dataclass
class Engines:
    """What a worker needs of the engines."""

    generate: Generate
    figures: EngineFigures


def called(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def clerk(prompt: str, request: GenerateRequest) -> str:
    """Asks for every part at once, says that it is done, and orders what is missing before; of odd instances only."""
    assert '"name": "stock_of"' in prompt
    if "in stock" not in prompt:
        return "<think>\nWhat is there?\n</think>\n\n" + "\n".join(called("stock_of", part=part) for part in PARTS)
    levels = [(int(stock), int(minimum)) for stock, minimum in re.findall(r"(\d+) in stock, minimum (\d+)\.", prompt)]
    if "Ordered." in prompt or levels[0][0] % 2 == 0:
        return "<answer>done</answer>"
    missing = [(part, low - stock) for part, (stock, low) in zip(PARTS, levels, strict=True) if stock < low]
    return "\n".join(called("reorder", part=part, quantity=quantity) for part, quantity in missing)


def gamer(prompt: str, request: GenerateRequest) -> str:
    return "<think>\nhm\n</think>\n\n\\boxed{down}"


async def rollout(
    folder: Path, monkeypatch: pytest.MonkeyPatch, program: str, script: Any, **patch: Any
) -> tuple[RolloutManifest, Path]:
    store = open_store(folder.as_uri())
    config = method(**patch)
    manifests.write(store, manifests.run_path(), run_manifest(config))
    policy = local_path(store, layout.policy_folder(0))
    write_byte_model(policy, template=real_template("qwen3"), context_tokens=16384)
    write_weights(policy)
    finish(store, 0)
    write_cycle(store, 0, [design(0, slot, "A", program) for slot in range(2)])
    generate = scripted(load_chat(policy_files(store, 0)), script)

    @asynccontextmanager
    async def servers(*_: object) -> AsyncIterator[tuple[Engines, PoolHere]]:
        yield Engines(generate, EngineFigures()), PoolHere()

    monkeypatch.setattr(module, "servers", servers)
    task = PlayTask(
        run=RunRef(namespace="default", name="mini", uid="0", storage_uri=store.uri),
        rollout=0,
        cycle=0,
        policy_version=0,
        attempt=0,
        workers=1,
        engine_host="",
        sandbox_host="",
    )
    figures = new_figures()
    summary = await module.play(task, Surroundings(), Progress(boot_id="x"), figures)
    shown = {
        sample.labels["result"]: sample.value
        for m in figures.registry.collect()
        for sample in m.samples
        if sample.name == "spade_worker_prefix_checks_total"
    }
    assert sum(shown.values()) == 2 * 8
    manifest = manifests.read_rollout(store, 0)
    assert manifest.prefix_checks == summary.prefix_checks == {name: count for name, count in shown.items() if count}
    regret = mean_hint_regret(manifest, config.switches)
    assert regret is not None
    assert (summary.hint_regret, summary.hint_regret_standard_error) == (regret.value, regret.standard_error)
    return manifest, folder


async def test_a_rollout_of_tool_programs_is_played_trained_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = {"environments": {"domain": "Tools"}, "play": {"thinking": "Enabled"}}
    manifest, folder = await rollout(tmp_path, monkeypatch, PROGRAM, clerk, **patch)
    store = open_store(folder.as_uri())
    episodes = read_episodes(store, manifest)
    assert set(manifest.outcomes) == {"scored", "truncated"}
    assert {returns for one in manifest.environments for returns in one.unhinted} == {0.0, 1.0}
    won = next(one for one in episodes if one.terminated)
    assert won.turns == len(PARTS) + 2 + 1
    assert won.per_turn == ()
    batch = assemble(store, manifests.read_run(store), 0)
    truncated = [sample for sample in batch.samples if not sample.loss_mask.any()]
    assert batch.player_samples == 8
    assert 0 < len(truncated) == sum(value == 0 for one in manifest.environments for value in one.unhinted)
    for one in (won, next(one for one in episodes if not one.terminated)):
        row = {"environment": one.environment, "play": one.play, "hinted": one.hinted}
        part = folder / "rollouts" / "0000" / manifest.episodes[one.slot]
        rows = await play_again(read_recorded(str(part), row), PoolHere())  # type: ignore[arg-type]  # a pool's stand-in
        assert len(rows) == 1 + one.turns
        assert all(row.same for row in rows)
        assert sum(row.operation.startswith("call(") for row in rows) >= len(PARTS)


async def test_a_rollout_of_thinking_games_trains_turn_by_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, folder = await rollout(tmp_path, monkeypatch, GAME, gamer, play={"thinking": "Enabled"})
    store = open_store(folder.as_uri())
    assert manifest.outcomes == {"scored": 16}
    batch = assemble(store, manifests.read_run(store), 0)
    assert len(batch.samples) == 2 * 4 * 2
    assert batch.denominator == 2 * 4
    turns_of = {sample.id.partition("/t")[0] for sample in batch.samples}
    for play in turns_of:
        assert len({s.denominator_tokens for s in batch.samples if s.id.startswith(f"{play}/t")}) == 1
