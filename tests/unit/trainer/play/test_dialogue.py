"""Thinking games train each turn, earlier thoughts stripped; hinted plays differ from unhinted ones in Paper only."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.trainer.builders import method, run_manifest
from tests.unit.trainer.byte_model import CHATML, real_template, write_byte_model
from tests.unit.trainer.fakes import ScriptedSession, opening, scripted, step

from spade_contracts.config import resolve
from spade_contracts.config.environments import Domain
from spade_contracts.config.method import Profile
from spade_contracts.config.sampling import Thinking
from spade_contracts.config.switches import TurnDeltas
from spade_contracts.engine_api import GenerateRequest
from spade_contracts.manifests import EnvironmentReturns, RolloutManifest
from spade_contracts.statuses import Outcome
from spade_contracts.tool_calls import ToolCallParsing
from spade_trainer.assembly import player_samples
from spade_trainer.chat import Chat, load_chat
from spade_trainer.play.dialogue import Manner, manner_of
from spade_trainer.play.episode import EpisodePlan, Table, play_episode
from spade_trainer.store.episodes import Episode, read_part, write_episodes
from spade_trainer.store.objects import open_store

WIN = step("You win.", 1.0, terminated=True)
THOUGHT = "<think>\nhm\n</think>\n\n\\boxed{5}"
PAPER, CORRECTED = Profile.PAPER, Profile.CORRECTED


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    return load_chat(write_byte_model(tmp_path_factory.mktemp("hybrid"), template=real_template("qwen3")))


async def played(
    chat: Chat,
    session: ScriptedSession,
    *,
    text: str = THOUGHT,
    hint: str | None = None,
    profile: Profile = CORRECTED,
    **patch: Any,
) -> tuple[Episode, list[str]]:
    """The episode, and the text that the engine was asked with at each turn."""
    requests: list[GenerateRequest] = []
    table = Table(
        method=method(profile, **patch),
        policy_version=3,
        chat=chat,
        generate=scripted(chat, lambda prompt, request: text, requests),
        open_session=opening(session),
    )
    plan = EpisodePlan(rollout=3, environment="c0001-s002", slot=2, play=0, source="", hint=hint, seed=77)
    episode = await play_episode(table, plan)
    return episode, [chat.tokenizer.decode(list(r.token_ids), skip_special_tokens=False) for r in requests]


def thinking(**play: Any) -> dict[str, Any]:
    return {"thinking": "Enabled", **play}


def three_turns() -> ScriptedSession:
    return ScriptedSession([step("Too low."), step("Too high."), WIN])


async def test_each_turn_of_a_thinking_game_is_asked_without_earlier_thoughts(hybrid: Chat) -> None:
    _, prompts = await played(hybrid, three_turns(), play=thinking())
    assert [prompt.count("hm") for prompt in prompts] == [0, 0, 0]
    assert [prompt.count("\\boxed{5}") for prompt in prompts] == [0, 1, 2]
    assert all(prompt.endswith("<|im_start|>assistant\n") for prompt in prompts)
    assert "Too low.<|im_end|>" in prompts[2]


async def test_each_turn_of_a_thinking_game_is_a_sequence_and_all_share_credit_and_denominator(
    hybrid: Chat, tmp_path: Path
) -> None:
    config = method(play=thinking())
    won, _ = await played(hybrid, three_turns(), play=thinking())
    lost, _ = await played(hybrid, ScriptedSession([step("Lost.", 0.0, terminated=True)]), play=thinking())
    store = open_store(tmp_path.as_uri())
    write_episodes(store, 3, 2, 0, [won, lost])
    name = "c0001-s002"
    returns = EnvironmentReturns(id=name, unhinted=(1.0, 0.0), hinted=(), environment_faults=0, retired=False)
    rollout = RolloutManifest(
        rollout=3,
        cycle=1,
        policy_version=3,
        planned=2,
        outcomes={},
        environments=(returns,),
        verifier_failures={},
        episodes=(),
    )
    read = read_part(store, 3, "episodes-s002-a00.parquet")
    plays = player_samples(run_manifest(config).method, rollout, read)
    assert [len(play) for play in plays] == [3, 1]
    samples = [sample for play in plays for sample in play]
    turn = hybrid.encode(f"{THOUGHT}<|im_end|>")
    assert [sample.id for sample in samples] == [
        "c0001-s002/r0003-p000/t00",
        "c0001-s002/r0003-p000/t01",
        "c0001-s002/r0003-p000/t02",
        "c0001-s002/r0003-p000/t00",
    ]
    assert [sample.advantage for sample in samples] == pytest.approx([1, 1, 1, -1])
    assert [sample.denominator_tokens for sample in samples] == [3 * len(turn)] * 3 + [len(turn)]
    for sample in samples:
        assert sample.token_ids[sample.prompt_tokens :].tolist() == turn
        assert sample.loss_mask.tolist() == [False] * sample.prompt_tokens + [True] * len(turn)
    assert won.prefix_check == "per_turn"
    assert won.trajectory.drawn_tokens == 3 * len(turn)


async def test_a_model_that_is_told_not_to_think_finds_its_thought_ended(hybrid: Chat) -> None:
    episode, prompts = await played(hybrid, three_turns(), text="\\boxed{5}")
    assert episode.per_turn == ()
    assert [prompt.count("<think>\n\n</think>\n\n") for prompt in prompts] == [1, 2, 3]
    assert all(prompt.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n") for prompt in prompts)


async def test_a_thinking_game_ends_at_its_context_too(hybrid: Chat) -> None:
    session = ScriptedSession([step("word " * 30)] * 25)
    episode, prompts = await played(hybrid, session, play=thinking(context_tokens=900))
    assert episode.outcome is Outcome.TRUNCATED
    assert 1 < len(prompts) < 25
    assert len(episode.per_turn) == len(prompts)


@pytest.mark.parametrize(
    ("profile", "domain", "play", "hinted", "expected"),
    [
        (CORRECTED, "Games", "Disabled", False, (False, "Disabled", False)),
        (CORRECTED, "Games", "Disabled", True, (False, "Disabled", False)),
        (CORRECTED, "Games", "Enabled", False, (True, "Enabled", False)),
        (CORRECTED, "Games", "Enabled", True, (True, "Enabled", False)),
        (CORRECTED, "Tools", "Enabled", True, (False, "Enabled", False)),
        (PAPER, "Games", "Enabled", False, (True, "Enabled", False)),
        (PAPER, "Games", "Enabled", True, (True, "Disabled", True)),
        (PAPER, "Games", "Disabled", True, (True, "Disabled", True)),
        (PAPER, "Tools", "Enabled", True, (False, "Enabled", False)),
    ],
)
@pytest.mark.switch("hintedPlays")
def test_how_each_arm_is_held(
    profile: Profile, domain: str, play: str, hinted: bool, expected: tuple[bool, str, bool]
) -> None:
    config = resolve(profile, {"environments": {"domain": domain}, "play": {"thinking": play}})
    per_turn, thinks, bare = expected
    deltas = TurnDeltas.SLICED if profile is PAPER else TurnDeltas.EXPLICIT
    assert manner_of(config, hinted=hinted) == Manner(per_turn, Thinking(thinks), deltas, bare)


HINT = "Below nine."


async def test_a_kept_end_token_ends_the_users_turn_before_the_request_for_a_box(hybrid: Chat) -> None:
    _, corrected = await played(hybrid, ScriptedSession([WIN]), hint=f"{HINT}<|im_end|>")
    _, paper = await played(hybrid, ScriptedSession([WIN]), hint=f"{HINT}<|im_end|>", profile=PAPER)
    assert f"{HINT}<|im_end|>\nReason step by step" in paper[0]
    assert corrected[0].count("<|im_end|>") == 1, "what a hint says cannot end a turn, whoever wrote it"
    assert paper[0].count("<|im_end|>") == 2


@pytest.mark.switch("hintedPlays")
async def test_hinted_plays_of_corrected_are_played_like_unhinted_ones(hybrid: Chat) -> None:
    for play in (thinking(), {}):
        _, unhinted = await played(hybrid, three_turns(), play=play)
        _, hinted = await played(hybrid, three_turns(), hint=HINT, play=play)
        assert [prompt.replace(f"\n\nHINT: {HINT}", "") for prompt in hinted] == unhinted


@pytest.mark.switch("hintedPlays")
async def test_hinted_games_of_paper_do_not_think_and_double_the_end_tokens(hybrid: Chat) -> None:
    _, prompts = await played(hybrid, three_turns(), hint=HINT, profile=PAPER, play=thinking())
    assert [prompt.count("<|im_end|><|im_end|>") for prompt in prompts] == [0, 1, 2]
    assert all(prompt.endswith("<think>\n\n</think>\n\n") for prompt in prompts)


async def test_hinted_games_of_paper_act_on_turns_that_do_not_end_and_pass_the_context(hybrid: Chat) -> None:
    limits = {"sampling": {"max_new_tokens": 9}, "context_tokens": 300}
    session = ScriptedSession([step("word " * 100), WIN])
    _, prompts = await played(hybrid, session, text="\\boxed{5} and on", hint=HINT, profile=PAPER, play=limits)
    assert session.actions == ["\\boxed{5}"] * 2
    assert len(hybrid.encode(prompts[1])) > 300
    corrected = ScriptedSession([WIN])
    episode, _ = await played(hybrid, corrected, text="\\boxed{5} and on", hint=HINT, play=limits)
    assert (episode.outcome, corrected.actions) == (Outcome.TRUNCATED, [])


async def test_a_hinted_game_of_paper_still_ends_where_the_model_does(tmp_path: Path) -> None:
    chat = load_chat(write_byte_model(tmp_path, template=CHATML, context_tokens=700))
    session = ScriptedSession([step("word " * 50)] * 25)
    episode, prompts = await played(chat, session, hint=HINT, profile=PAPER)
    assert (episode.outcome, episode.episode_return) == (Outcome.TRUNCATED, 0.0)
    assert 1 < len(prompts) < 25


def test_the_recipes_of_both_domains_say_how_they_are_played() -> None:
    games, tools = (resolve(PAPER, {"environments": {"domain": domain}}) for domain in Domain)
    assert (games.play.truncated, tools.play.truncated) == ("Trained", "Masked")
    assert {one.play.malformed_calls for one in (games, tools)} == {"Masked"}
    assert resolve(CORRECTED, {"environments": {"domain": "Tools"}}).play.truncated == "Masked"
    assert (tools.switches.tool_calls, tools.switches.turn_deltas) == (ToolCallParsing.LENIENT, TurnDeltas.SLICED)


@pytest.mark.switch("turnDeltas")
async def test_a_sliced_delta_is_what_the_engine_sees_in_paper(hybrid: Chat) -> None:
    _, corrected = await played(hybrid, three_turns(), text="\\boxed{5}")
    _, paper = await played(hybrid, three_turns(), text="\\boxed{5}", profile=PAPER)
    assert "<|im_end|>\n<|im_start|>user\nToo low." in corrected[1]
    assert "Too low." not in paper[1], "the empty thought of the reply makes the earlier rendering too long"
