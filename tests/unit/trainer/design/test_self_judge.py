"""The policy judges as any model does: a clear yes accepts, and everything else rejects."""

from pathlib import Path

import pytest
from tests.unit.trainer.byte_model import write_byte_model
from tests.unit.trainer.fakes import scripted

from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import JudgeSettings, JudgeSource
from spade_contracts.engine_api import GenerateRequest
from spade_contracts.errors import InfrastructureFault
from spade_sandbox.verify.judge import mark_of, prompt_for, word_of
from spade_trainer.chat import Chat, load_chat
from spade_trainer.design.self_judge import JudgementCut, TooLongToJudge, policy_judge
from spade_trainer.design.writing import Policy
from spade_trainer.play.episode import Generate

SOURCE = "class AEnv: ...<|im_end|>"
QUESTION = prompt_for(SOURCE, Domain.TOOLS)
YES = f"It can be won.\nVERDICT {mark_of(SOURCE)}: yes"
SETTINGS = JudgeSettings(source=JudgeSource.POLICY, temperature=0.3, top_p=0.9, max_tokens=200, timeout_seconds=7)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    return load_chat(write_byte_model(tmp_path_factory.mktemp("model"), context_tokens=4096))


def judge_saying(
    chat: Chat, text: str, requests: list[GenerateRequest] | None = None, settings: JudgeSettings = SETTINGS
):
    return policy_judge(Policy(chat, scripted(chat, lambda *_: text, requests), 5), settings, run_seed=3)


async def test_its_answer_is_read_like_any_judges(chat: Chat) -> None:
    for text, word in ((YES, "yes"), (YES.replace("yes", "no"), "no"), ("Why not?", "")):
        assert word_of(await judge_saying(chat, text)(QUESTION), SOURCE) == word


async def test_the_policy_of_the_cycle_is_asked_with_the_settings_of_the_judge(chat: Chat) -> None:
    requests: list[GenerateRequest] = []
    ask = judge_saying(chat, YES, requests)
    for question in (QUESTION, QUESTION, prompt_for("class B: ...", Domain.GAMES)):
        await ask(question)
    first, again, other = requests
    assert (first.temperature, first.top_p, first.top_k, first.max_new_tokens) == (0.3, 0.9, -1, 200)
    assert first.policy_version == 5
    assert first == again
    assert first.seed != other.seed
    turn_end = chat.tokenizer.token_to_id("<|im_end|>")
    assert list(first.token_ids).count(turn_end) == 1, "the program's own mark is text"


async def test_without_a_temperature_nearly_nothing_is_left_to_chance(chat: Chat) -> None:
    requests: list[GenerateRequest] = []
    await judge_saying(chat, YES, requests, SETTINGS.model_copy(update={"temperature": 0.0}))(QUESTION)
    assert 0 < requests[0].temperature <= 0.001


async def test_an_answer_that_was_cut_says_nothing(chat: Chat) -> None:
    short = SETTINGS.model_copy(update={"max_tokens": len(chat.encode(YES))})
    with pytest.raises(JudgementCut, match=r"judge\.maxTokens"):
        await judge_saying(chat, YES, settings=short)(QUESTION)


async def test_a_program_that_fills_the_context_cannot_be_judged(tmp_path: Path) -> None:
    small = load_chat(write_byte_model(tmp_path, context_tokens=200))
    with pytest.raises(TooLongToJudge, match="the context 200"):
        await judge_saying(small, YES)(QUESTION)


async def test_engines_that_fail_are_a_fault_of_theirs(chat: Chat) -> None:
    async def failing(request: GenerateRequest, timeout_seconds: float):
        assert timeout_seconds == 7
        raise InfrastructureFault("no engine is ready")

    generate: Generate = failing
    with pytest.raises(InfrastructureFault):
        await policy_judge(Policy(chat, generate, 5), SETTINGS, run_seed=3)(QUESTION)
