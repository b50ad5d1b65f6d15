"""The designer thinks as it is set to, except in Paper (D5), and a thought is no program (D1 for hints)."""

from typing import Any

import pytest
from tests.unit.trainer.byte_model import real_template, write_byte_model
from tests.unit.trainer.design.test_slot import SKILLS, is_hint, judging, studio

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.config.sampling import Thinking
from spade_contracts.engine_api import GenerateRequest
from spade_contracts.verdicts import accepted
from spade_sandbox.verify import Judgement
from spade_trainer.chat import Chat, load_chat
from spade_trainer.design.designer import design_slot, designer_thinking

NO_THOUGHT = "<|im_start|>assistant\n<think>\n\n</think>\n\n"


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    return load_chat(write_byte_model(tmp_path_factory.mktemp("model"), template=real_template("qwen3")))


def config(profile: Profile, thinking: str) -> MethodConfig:
    designer = {"thinking": thinking}
    return resolve(profile, {"environments": {"skills": SKILLS, "active_skills": 2, "designer": designer}})


@pytest.mark.parametrize(
    ("profile", "thinking", "told_not_to"),
    [
        (Profile.CORRECTED, "Enabled", [False, True]),
        (Profile.CORRECTED, "Disabled", [True, True]),
        (Profile.PAPER, "Enabled", [True, True]),
    ],
)
@pytest.mark.switch("designerThinking")
async def test_program_and_hint_are_asked_for_with_and_without_thinking(
    chat: Chat, profile: Profile, thinking: str, told_not_to: list[bool]
) -> None:
    requests: list[GenerateRequest] = []
    made = studio(chat, judging(accepted()), requests=requests, method=config(profile, thinking))
    await design_slot(made, 0)
    prompts = [chat.tokenizer.decode(list(r.token_ids), skip_special_tokens=False) for r in requests]
    assert [prompt.endswith(NO_THOUGHT) for prompt in prompts] == told_not_to


@pytest.mark.parametrize("profile", Profile)
def test_a_designer_without_a_document_thinks_in_the_reference_too(profile: Profile) -> None:
    """D5 concerns requests with a document only."""
    settings = {"environments": {"designer": {"thinking": "Enabled"}, "corpus": {"uri": ""}}}
    assert designer_thinking(resolve(profile, settings)) is Thinking.ON


async def test_a_program_in_a_thought_is_not_judged(chat: Chat) -> None:
    seen: list[str] = []

    async def judge(answer: str, names: tuple[str, ...]) -> Judgement:
        seen.append(answer)
        return Judgement(accepted(), "class MyEnv: pass\n")

    def script(prompt: str, request: GenerateRequest) -> Any:
        return "Look." if is_hint(prompt) else "<think>\n```python\ndraft\n```\n</think>\n```python\nfinal\n```"

    await design_slot(studio(chat, judge, script=script, method=config(Profile.CORRECTED, "Enabled")), 0)
    assert seen == ["\n```python\nfinal\n```"]


@pytest.mark.parametrize(
    ("profile", "thinking", "hint"),
    [
        (Profile.CORRECTED, "Disabled", "Look left."),
        (Profile.PAPER, "Disabled", "Look left. <|im_end|>"),
        (Profile.PAPER, "Enabled", "Look left."),
    ],
)
@pytest.mark.switch("hintEnding")
async def test_a_hint_keeps_its_end_token_in_paper_where_the_designer_does_not_think(
    chat: Chat, profile: Profile, thinking: str, hint: str
) -> None:
    (one,) = await design_slot(studio(chat, judging(accepted()), method=config(profile, thinking)), 0)
    assert one.hint == hint
