"""What is trained is what the engine saw and drew, token for token, for every template, domain and profile.

Whole episodes are played from random turns: parallel calls, thoughts, broken tags, control tokens in anybody's words,
turns that never end.
"""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.trainer.builders import method
from tests.unit.trainer.byte_model import CHATML, SPECIAL, TAGS, real_template, write_byte_model, write_real_model
from tests.unit.trainer.fakes import ScriptedSession, opening, scripted, step

from spade_contracts.config.method import Profile
from spade_contracts.engine_api import FinishReason, GenerateRequest, GenerateResponse, VersionSpan
from spade_contracts.statuses import PrefixCheck
from spade_sandbox.client import CallResult, StepResult, Tool
from spade_trainer.chat import Chat, load_chat
from spade_trainer.play.dialogue import manner_of
from spade_trainer.play.episode import EpisodePlan, Generate, Table, play_episode
from spade_trainer.play.samples import trained_sequences
from spade_trainer.play.tokens import PrefixBroken, add_drawn, add_given, begin, seen
from spade_trainer.store.episodes import Episode
from spade_trainer.workers.model_source import resolve_model

NAMES = ("chatml", "qwen3", "qwen3_instruct_2507", "real", "tiny")
"""Templates; the last two are the hybrid one with Qwen3's own tokenizer, and with the one that we ship, which has words
of several words."""
CALL = '<tool_call>\n{"name": "look", "arguments": {"item": "pen"}}\n</tool_call>'
PIECES = st.sampled_from(
    [
        *SPECIAL[1:2],
        *TAGS,
        CALL,
        CALL,
        "<think>\nhm\n</think>\n\n",
        "<answer>",
        "</answer>",
        "\\boxed{5}",
        "the ",
        "\n",
        "é",
    ]
)
REPLIES = st.lists(PIECES, max_size=6).map("".join)
OBSERVATIONS = st.lists(st.sampled_from([*SPECIAL, *TAGS, "<|im_start|>assistant\n", "in the ", "\n"]), max_size=5).map(
    "".join
)
Chats = Callable[[str], Chat]


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Chats:
    folder = tmp_path_factory.mktemp("models")
    made = {
        name: load_chat(write_byte_model(folder / name, template=CHATML if name == "chatml" else real_template(name)))
        for name in NAMES[:-2]
    }
    made["real"] = load_chat(write_real_model(folder / "real", template=real_template("qwen3")))
    shutil.copytree(resolve_model("package:tiny"), folder / "tiny", ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "tiny" / "chat_template.jinja").write_text(real_template("qwen3"))
    made["tiny"] = load_chat(folder / "tiny")
    return made.__getitem__


@dataclass
class Heard:
    """An engine that remembers what it was asked and what it drew."""

    generate: Generate
    exchanges: list[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)

    async def __call__(self, request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        drawn = await self.generate(request, timeout_seconds)
        self.exchanges.append((request.token_ids, drawn.token_ids))
        return drawn


def played(
    chat: Chat, replies: Sequence[str], steps: Sequence[StepResult], *, profile: Profile, hinted: bool, **patch: Any
) -> tuple[Episode, Heard, Table]:
    left = list(replies)
    engine = Heard(scripted(chat, lambda prompt, request: left.pop(0) if left else "bye"))
    session = ScriptedSession([*steps, *[step("more")] * 99], first="Begin.", offered=[Tool("look", "See.", {})])
    session.outputs = lambda name, arguments: CallResult(f"<|im_end|>{arguments}</tool_response>", 0)
    table = Table(method(profile, **patch), 3, chat, engine, opening(session))
    plan = EpisodePlan(
        rollout=3,
        environment="c0001-s002",
        slot=2,
        play=0,
        source="",
        hint="look<|im_end|>" if hinted else None,
        seed=7,
    )
    return asyncio.run(play_episode(table, plan)), engine, table


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("domain", ["Games", "Tools"])
@pytest.mark.parametrize("profile", Profile)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    replies=st.lists(REPLIES, max_size=4),
    observations=st.lists(OBSERVATIONS, max_size=4),
    thinking=st.sampled_from(["Disabled", "Enabled"]),
    hinted=st.booleans(),
    longest=st.sampled_from([8192, 40]),
)
def test_every_trained_token_stands_where_the_engine_saw_or_drew_it(
    chats: Chats,
    name: str,
    domain: str,
    profile: Profile,
    replies: list[str],
    observations: list[str],
    thinking: str,
    hinted: bool,
    longest: int,
) -> None:
    steps = [step(observation) for observation in observations]
    play = {"thinking": thinking, "max_turns": 5, "sampling": {"max_new_tokens": longest}}
    episode, engine, table = played(
        chats(name),
        replies,
        steps,
        profile=profile,
        hinted=hinted,
        play=play,
        environments={"domain": domain, "per_cycle": 4},
    )
    kept = [
        part for _, part in trained_sequences(table.method.play.model_copy(update={"truncated": "Trained"}), episode)
    ]
    per_turn = manner_of(table.method, hinted=hinted).per_turn
    assert len(kept) == (len(engine.exchanges) if per_turn else 1)
    drawn_by_mask: list[int] = []
    for number, (asked, drawn) in enumerate(engine.exchanges):
        sequence = kept[number if per_turn else 0].token_ids.tolist()
        assert sequence[: len(asked)] == list(asked)
        assert sequence[len(asked) : len(asked) + len(drawn)] == list(drawn)
        mask = kept[number if per_turn else 0].loss_mask[len(asked) : len(asked) + len(drawn)]
        assert mask.all() or not mask.any()
        drawn_by_mask += list(drawn) if mask.all() else []
    trained = [int(token) for part in kept for token in part.token_ids[part.loss_mask]]
    assert trained == drawn_by_mask, "nothing is trained that was not drawn"
    for part in kept:
        assert part.drawn_tokens >= int(part.loss_mask.sum())
        assert (part.log_probs[~part.loss_mask] == 0).all()
    assert episode.trajectory.drawn_tokens == sum(len(drawn) for _, drawn in engine.exchanges)
    assert (episode.prefix_check == PrefixCheck.PER_TURN) == per_turn


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=25)
@given(
    calls=st.lists(st.integers(1, 3), max_size=3),
)
def test_tool_episodes_in_canonical_form_are_spelled_exactly_as_the_template_does(
    chats: Chats, name: str, calls: list[int]
) -> None:
    thought = "<think>\nhm\n</think>\n\n"
    replies = [thought + "\n".join([CALL] * count) for count in calls] + [f"{thought}<answer>done</answer>"]
    episode, _, _ = played(
        chats(name),
        replies,
        [step("Correct!", 1.0, terminated=True)],
        profile=Profile.CORRECTED,
        hinted=False,
        play={"thinking": "Enabled"},
        environments={"domain": "Tools", "per_cycle": 4},
    )
    assert episode.prefix_check in (PrefixCheck.EXACT, PrefixCheck.REENCODED)
    assert episode.episode_return == 1.0


def test_a_prompt_that_is_not_what_is_kept_is_refused(chats: Chats) -> None:
    chat = chats("chatml")
    transcript = begin([1, 2, 3])
    request = GenerateRequest(token_ids=(1, 2), temperature=1, max_new_tokens=5, seed=0, policy_version=3)
    drawn = asyncio.run(scripted(chat, lambda prompt, request: "x")(request, 1))
    with pytest.raises(PrefixBroken):
        add_drawn(transcript, drawn, request)


def test_tokens_that_came_after_an_engine_was_asked_make_its_answer_a_stranger(chats: Chats) -> None:
    chat = chats("chatml")
    transcript = begin([1, 2, 3])
    request = GenerateRequest.model_construct(
        token_ids=seen(transcript), temperature=1, max_new_tokens=5, seed=0, policy_version=3
    )
    drawn = asyncio.run(scripted(chat, lambda prompt, request: "x")(request, 1))
    add_given(transcript, [4])
    with pytest.raises(PrefixBroken):
        add_drawn(transcript, drawn, request)


@given(kept=st.lists(st.integers(0, 5), max_size=6), asked=st.lists(st.integers(0, 5), max_size=6))
def test_an_answer_is_kept_only_behind_the_very_tokens_that_were_asked(kept: list[int], asked: list[int]) -> None:
    transcript = begin(kept)
    seen(transcript)
    request = GenerateRequest.model_construct(token_ids=tuple(asked))
    spans = (VersionSpan(policy_version=0, tokens=1),)
    drawn = GenerateResponse(
        token_ids=(7,), log_probs=(-1.0,), finish_reason=FinishReason.STOP, spans=spans, boot_id="b"
    )
    if kept == asked:
        add_drawn(transcript, drawn, request)
        assert transcript.token_ids == [*kept, 7]
    else:
        with pytest.raises(PrefixBroken):
            add_drawn(transcript, drawn, request)
