"""Workers design and play tool-use tasks in real cells, and thinking games; what is trained is what was drawn."""

import asyncio
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev

import pytest
from tests.component.workers.drawn import Drawn, by_seed, check_trained, turns
from tests.component.workers.runs import SmallRun, designed, played, prepared, results, settings, small_run, trained
from tests.component.workers.scripted_engine import ScriptedEngine, serving
from tests.component.workers.tool_engine import DONE, PROGRAMS, UNREADABLE, ToolEngine
from tests.support.sandbox_pods import RunningPod, pod_in_namespaces

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.config.sampling import Thinking
from spade_contracts.engine_api import GenerateRequest
from spade_contracts.statuses import Outcome
from spade_contracts.tool_calls import OPEN
from spade_trainer.assembly import Batch, SampleRole, assemble
from spade_trainer.chat import ToolForm, load_chat, spoken
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.store import manifests
from spade_trainer.store.designs import read_designs, read_program
from spade_trainer.store.episodes import Episode, read_episodes
from spade_trainer.store.objects import open_store
from spade_trainer.workers.model_source import resolve_model

QWEN3 = Path(__file__).parents[2] / "data" / "chat_templates" / "qwen3.jinja"
CONTEXT_TOKENS = 8192
"""The shipped model reads fewer than a tool program and its prompt need; nothing is computed with it here."""
PLAYS = 4
MAX_TURNS = 6


@pytest.fixture(scope="module")
def pod() -> Iterator[RunningPod]:
    with pod_in_namespaces() as running:
        running.tried()
        yield running


@dataclass(frozen=True)
class Played:
    """A finished run and what its engine was asked."""

    run: SmallRun
    engine: ScriptedEngine
    method: MethodConfig
    batch: Batch
    episodes: tuple[Episode, ...]


def model_of(folder: Path, *, hybrid: bool) -> Path:
    """The shipped model with a longer context; hybrid: with a chat template that is told whether to think."""
    shutil.copytree(resolve_model("package:tiny"), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": CONTEXT_TOKENS}))
    if hybrid:
        shutil.copy(QWEN3, folder / "chat_template.jinja")
    return folder


def of_tools(thinking: Thinking) -> MethodConfig:
    """One cycle of one rollout: three environments, four plays each with and without the hint."""
    patch = {
        "seed": 11,
        "environments": {
            "domain": "Tools",
            "per_cycle": 3,
            "cycle_length": 1,
            "active_skills": 1,
            "designer": {
                "prompt_template": "Compact",
                "sampling": {"max_new_tokens": 2000},
                "attempts": 6,
                "thinking": thinking,
            },
            "corpus": {"uri": "package:mini", "max_words": 50},
            "verification": {"canaries": 1},
        },
        "play": {
            "plays_per_environment": PLAYS,
            "hinted_plays": PLAYS,
            "max_turns": MAX_TURNS,
            "context_tokens": 4096,
            "sampling": {"max_new_tokens": 256},
            "thinking": thinking,
        },
    }
    return resolve(Profile.CORRECTED, patch)


async def run_of(folder: Path, pod: RunningPod, engine: ScriptedEngine, method: MethodConfig, seed: int) -> Played:
    """Prepare, design, play and train one rollout; the engine's answers come in an order that depends on the seed."""
    rng = random.Random(seed)
    engine.delay = lambda request: asyncio.sleep(rng.random() / 50)
    run = small_run(folder, "", pod.target)
    async with serving(engine) as address:
        run = replace(run, engine=address)
        result = await prepared(run, method=method, model_uri=(folder.parent / "model").as_uri())
        assert result.accepted, result
        await designed(run, 0)
        await played(run, 0)
    trained(run, 0, last=True)
    store = open_store(run.run.storage_uri)
    batch = assemble(store, manifests.read_run(store), 0, last_rollout=True)
    return Played(run, engine, method, batch, read_episodes(store, manifests.read_rollout(store, 0)))


@pytest.fixture(scope="module", params=list(Thinking))
def tools(request: pytest.FixtureRequest, pod: RunningPod, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A run of tools. Without thinking the chat template knows no tools; with it, it shows them itself."""
    folder = tmp_path_factory.mktemp("tools")
    thinks = request.param is Thinking.ON
    chat = load_chat(model_of(folder / "model", hybrid=thinks))
    assert chat.tool_form is (ToolForm.NATIVE if thinks else ToolForm.SPELLED)
    engine = ToolEngine(chat, thinks=thinks)
    return asyncio.run(run_of(folder / "run", pod, engine, of_tools(request.param), seed=0))


def _spoken(tools: Played, part: Drawn) -> str:
    """What a player said aloud."""
    return spoken(tools.engine.chat.decode(part.response.token_ids))


def test_good_tool_programs_are_admitted_by_the_whole_battery_and_hinted_at(tools: Played) -> None:
    store = open_store(tools.run.run.storage_uri)
    batch = manifests.read_batch(store, 0)
    assert len(batch.environments) > 1
    assert set(batch.rejected) <= {"parse/syntax", "novelty/duplicate", "novelty/near_duplicate"}
    assert batch.rejected["parse/syntax"] > 0
    assert batch.canaries == {"bad": 1, "good": 1}
    for entry in batch.environments:
        assert read_program(store, 0, entry.file).strip() in [program.strip() for program in PROGRAMS]
        assert entry.hint == "Look first, then change."


def test_clerks_win_with_the_right_calls_and_are_truncated_otherwise(tools: Played) -> None:
    assert {episode.fault for episode in tools.episodes} == {""}
    for hinted in (False, True):
        arm = [episode for episode in tools.episodes if episode.hinted is hinted]
        assert len(arm) == PLAYS * len({episode.environment for episode in arm})
        assert {episode.outcome for episode in arm} == {Outcome.SCORED, Outcome.TRUNCATED}
    for episode in tools.episodes:
        won = episode.outcome is Outcome.SCORED
        assert episode.episode_return == float(won)
        assert episode.actions == () or episode.actions[-1].strip() == DONE
        assert won or episode.turns in (0, MAX_TURNS)


def test_manifests_say_what_the_plays_returned_and_pair_the_arms(tools: Played) -> None:
    manifest = manifests.read_rollout(open_store(tools.run.run.storage_uri), 0)
    returns = {(e.environment, e.hinted, e.play): e.episode_return for e in tools.episodes}
    for entry in manifest.environments:
        assert entry.unhinted == tuple(returns[entry.id, False, play] for play in range(PLAYS))
        assert entry.hinted == tuple(returns[entry.id, True, play] for play in range(PLAYS))
        assert entry.pairs == tuple(zip(entry.unhinted, entry.hinted, strict=True))
        assert (entry.suspect, entry.retired) == ((), False)


def test_each_call_of_a_turn_is_answered_and_an_unreadable_one_by_a_reminder(tools: Played) -> None:
    drawn = by_seed(tools.engine)
    calls, reminders = [], 0
    for episode in tools.episodes:
        for before, after in pairwise(turns(drawn, tools.method.seed, 0, episode)):
            said = _spoken(tools, before)
            given = tools.engine.chat.decode(after.request.token_ids[len(before.tokens) :])
            readable = 0 if UNREADABLE in said else said.count(OPEN)
            assert given.count("<tool_response>\n") == readable
            assert ("could not be read" in given) is (UNREADABLE in said)
            calls.append(readable)
            reminders += UNREADABLE in said
    assert max(calls) > 1
    assert reminders


def test_player_tokens_are_trained_as_drawn_but_for_unreadable_and_truncated_ones(tools: Played) -> None:
    drawn = by_seed(tools.engine)
    unhinted = [episode for episode in tools.episodes if not episode.hinted]
    players = [sample for sample in tools.batch.samples if sample.role is SampleRole.PLAYER]
    samples = {sample.id: sample for sample in players}
    assert len(samples) == len(players) == len(unhinted)
    unreadable = 0
    for episode in unhinted:
        sample = samples[f"{episode.environment}/r0000-p{episode.play:03d}"]
        parts = turns(drawn, tools.method.seed, 0, episode)
        kept = [part for part in parts if UNREADABLE not in _spoken(tools, part)]
        unreadable += len(parts) - len(kept) if episode.outcome is Outcome.SCORED else 0
        check_trained(sample, parts, tuple(kept) if episode.outcome is Outcome.SCORED else ())
        assert sample.denominator_tokens == max(1, int(sample.loss_mask.sum()))
        group = [e.episode_return or 0.0 for e in unhinted if e.environment == episode.environment]
        expected = ((episode.episode_return or 0.0) - fmean(group)) / (pstdev(group) + 1e-8)
        assert sample.advantage == pytest.approx(expected)
    assert unreadable


def test_designers_are_trained_on_their_programs_as_drawn(tools: Played) -> None:
    drawn = by_seed(tools.engine)
    store = open_store(tools.run.run.storage_uri)
    designs = {
        f"c0000-s{design.slot:03d}/design": design
        for design in read_designs(store, manifests.read_batch(store, 0))
        if design.accepted
    }
    samples = [sample for sample in tools.batch.samples if sample.role is SampleRole.DESIGNER]
    assert tools.batch.designer_cycles == (0,)
    assert samples
    for sample in samples:
        design = designs[sample.id]
        part = drawn[seed_for(tools.method.seed, Purpose.DESIGN, 0, design.slot, design.attempt)]
        check_trained(sample, (part,), (part,))
    # All are of one skill.
    assert any(sample.advantage for sample in samples)
    assert sum(sample.advantage for sample in samples) == pytest.approx(0)


async def test_another_order_of_answers_gives_the_same_manifests(tools: Played, pod: RunningPod) -> None:
    again = replace(tools.engine, requests=[])
    folder = tools.run.folder.parent / "again"
    other = await run_of(folder, pod, again, tools.method, seed=1)
    assert results(other.run) == results(tools.run)
    assert len(other.engine.requests) == len(tools.engine.requests)


@dataclass
class Thinker(ScriptedEngine):
    """Designs and plays games, and thinks before it plays."""

    def answer(self, request: GenerateRequest) -> str:
        said = super().answer(request)
        return f"<think>\nPerhaps \\boxed{{2}}.\n</think>\n\n{said}" if said.startswith("I saw") else said


async def test_each_turn_of_a_thinking_game_is_trained_with_its_own_prompt(pod: RunningPod, tmp_path: Path) -> None:
    games = settings()
    environments = games.environments.model_copy(update={"cycle_length": 1})
    play = games.play.model_copy(update={"thinking": Thinking.ON})
    method = games.model_copy(update={"environments": environments, "play": play})
    engine = Thinker(load_chat(model_of(tmp_path / "model", hybrid=True)))
    games_run = await run_of(tmp_path / "run", pod, engine, method, seed=0)
    drawn = by_seed(engine)
    samples = {sample.id: sample for sample in games_run.batch.samples if sample.role is SampleRole.PLAYER}
    # A program may fail under the player, who is not trained on that.
    unhinted = [e for e in games_run.episodes if not e.hinted and e.outcome is not Outcome.ENVIRONMENT_FAULT]
    assert {episode.outcome for episode in unhinted} == {Outcome.SCORED, Outcome.TRUNCATED}
    wanted = set()
    for episode in unhinted:
        parts = turns(drawn, method.seed, 0, episode)
        together = sum(len(part.response.token_ids) for part in parts)
        for turn, part in enumerate(parts):
            name = f"{episode.environment}/r0000-p{episode.play:03d}/t{turn:02d}"
            check_trained(samples[name], (part,), (part,))
            assert samples[name].denominator_tokens == together
            assert "Perhaps" not in engine.chat.decode(part.request.token_ids)
            wanted.add(name)
    assert set(samples) == wanted
    assert max(len(episode.per_turn) for episode in unhinted) > 1
