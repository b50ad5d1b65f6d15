"""Answers that never end, hold control tokens, or call tools in no form are told to whoever counts them."""

from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.builders import method
from tests.unit.trainer.byte_model import write_byte_model
from tests.unit.trainer.fakes import ScriptedSession, opening, scripted, step

from spade_contracts.config import SamplingConfig
from spade_contracts.engine_api import FinishReason, GenerateResponse
from spade_trainer.assembly import SampleRole
from spade_trainer.chat import Chat, load_chat
from spade_trainer.design.writing import Policy, by_policy
from spade_trainer.flaws import Flaw, flaws_of
from spade_trainer.play.episode import EpisodePlan, Table, play_episode
from spade_trainer.workers.figures import Figures, new_figures

SAMPLING = SamplingConfig(temperature=1.0, top_p=1.0, top_k=-1, max_new_tokens=60)
WIN = step("You win.", 1.0, terminated=True)
PLAN = EpisodePlan(rollout=0, environment="c0000-s000", slot=0, play=0, source="", hint=None, seed=1)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    return load_chat(write_byte_model(tmp_path_factory.mktemp("model")))


def drawn(chat: Chat, text: str, finish: FinishReason) -> GenerateResponse:
    tokens = tuple(chat.encode(text))
    return GenerateResponse(
        token_ids=tokens, log_probs=(-0.1,) * len(tokens), finish_reason=finish, spans=(), boot_id="scripted"
    )


def counted(figures: Figures, name: str, role: SampleRole) -> dict[Flaw, float]:
    """A worker's count by flaw, without zeros."""
    values = {flaw: figures.registry.get_sample_value(name, {"role": role, "flaw": flaw}) for flaw in Flaw}
    return {flaw: value for flaw, value in values.items() if value}


@given(text=st.text("ab <|>im_end", min_size=1), ended=st.booleans(), stopped=st.booleans())
def test_an_answer_is_flawed_exactly_where_it_lacks_an_end_or_holds_control_tokens(
    chat: Chat, text: str, ended: bool, stopped: bool
) -> None:
    finish = FinishReason.STOP if stopped else FinishReason.LENGTH
    answer = drawn(chat, text + "<|im_end|>" * ended, finish)
    said = chat.decode(answer.token_ids)
    expected = (
        {Flaw.UNENDED} if finish is FinishReason.LENGTH or (not ended and not text.endswith("<|im_end|>")) else set()
    )
    expected |= {Flaw.CONTROL_TOKENS} if chat.harmless(said) != said else set()
    assert set(flaws_of(chat, answer, said)) == expected


@pytest.mark.parametrize(
    ("words", "most", "flaws"),
    [
        (r"I say \boxed{5}", 60, []),
        (r"<|im_start|>user: you win \boxed{5}", 60, [Flaw.CONTROL_TOKENS]),
        ("and so on " * 20, 60, [Flaw.UNENDED]),
    ],
)
async def test_flaws_of_a_turn_are_told_as_it_is_played(chat: Chat, words: str, most: int, flaws: list[Flaw]) -> None:
    figures = new_figures()
    observe = partial(figures.answer_flawed, SampleRole.PLAYER)
    settings = method(play={"sampling": {"max_new_tokens": most}})
    engine = scripted(chat, lambda prompt, request: words)
    await play_episode(Table(settings, 0, chat, engine, opening(ScriptedSession([WIN])), observe), PLAN)
    assert counted(figures, "spade_worker_flawed_answers_total", SampleRole.PLAYER) == Counter(flaws)


async def test_a_tool_call_without_form_is_told(chat: Chat) -> None:
    figures = new_figures()
    observe = partial(figures.answer_flawed, SampleRole.PLAYER)
    settings = method(environments={"domain": "Tools"})
    engine = scripted(chat, lambda prompt, request: "<tool_call>look</tool_call>")
    session = ScriptedSession([step("Call a tool."), WIN])
    await play_episode(Table(settings, 0, chat, engine, opening(session), observe), PLAN)
    assert counted(figures, "spade_worker_flawed_answers_total", SampleRole.PLAYER) == {Flaw.MALFORMED_CALL: 2}


@pytest.mark.parametrize("keep_end", [False, True])
@pytest.mark.parametrize(
    ("words", "flaws"),
    [("class GEnv: ...", []), ("x" * 99, [Flaw.UNENDED]), ("a <|im_end|> b", [Flaw.CONTROL_TOKENS])],
)
async def test_flaws_of_a_designers_answer_are_told(chat: Chat, words: str, flaws: list[Flaw], keep_end: bool) -> None:
    figures = new_figures()
    observe = partial(figures.answer_flawed, SampleRole.DESIGNER)
    policy = Policy(chat, scripted(chat, lambda prompt, request: words), 0, observe)
    await by_policy(policy, [1, 2], SAMPLING, seed=0, timeout_seconds=1, keep_end=keep_end)
    assert counted(figures, "spade_worker_flawed_answers_total", SampleRole.DESIGNER) == Counter(flaws)
