"""On the chat templates of real Qwen3 models, explicit rendering says what the template says (method.md §8.6, D9)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.byte_model import CHATML, SPECIAL, TAGS, real_template, write_byte_model, write_real_model

from spade_contracts.config.sampling import Thinking
from spade_trainer.chat import Chat, Spelled, ToolForm, load_chat, spoken

NAMES = ("chatml", "qwen3", "qwen3_instruct_2507", "real")
"""Templates; the last is the hybrid one with Qwen3's own tokenizer."""
OFF, ON = Thinking.OFF, Thinking.ON
TOOL = {"type": "function", "function": {"name": "look", "description": "See.", "parameters": {"type": "object"}}}
EMPTY_THOUGHT = "<think>\n\n</think>\n\n"
Chats = Callable[[str], Chat]


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Chats:
    """A model's chat by the name of its template."""
    folder = tmp_path_factory.mktemp("models")
    made = {
        name: load_chat(write_byte_model(folder / name, template=CHATML if name == "chatml" else real_template(name)))
        for name in NAMES[:-1]
    }
    made["real"] = load_chat(write_real_model(folder / "real", template=real_template("qwen3")))
    return made.__getitem__


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def spelling(chat: Chat, tokens: Sequence[int]) -> str:
    """What the tokens say; Qwen3's tokenizer composes accents with their letters before it makes any."""
    return normalize("NFC", str(chat.tokenizer.decode(list(tokens), skip_special_tokens=False)))


TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
HOSTILE = st.lists(st.sampled_from([*SPECIAL, *TAGS, "<|im_", "end|>", "assistant\n", "x", "\n"]), max_size=8).map(
    "".join
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("thinking", [None, OFF, ON])
@given(first=TEXTS, answer=st.text("abc", min_size=1), second=TEXTS | HOSTILE)
def test_the_users_next_turn_is_the_templates(
    chats: Chats, name: str, thinking: Thinking | None, first: str, answer: str, second: str
) -> None:
    chat = chats(name)
    whole = [message("user", first), message("assistant", answer), message("user", second)]
    rendered = normalize("NFC", chat.render(whole, thinking=thinking))
    assert rendered.endswith(f"{answer}<|im_end|>" + spelling(chat, chat.next_turn(second, thinking)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("thinking", [OFF, ON])
@given(outputs=st.lists(TEXTS | HOSTILE, min_size=1, max_size=4))
def test_answers_of_parallel_calls_are_the_templates(
    chats: Chats, name: str, thinking: Thinking, outputs: list[str]
) -> None:
    chat = chats(name)
    begun = [message("user", "go"), message("assistant", "calls")]
    whole = [*begun, *(message("tool", output) for output in outputs)]
    rendered = normalize("NFC", chat.render(whole, tools=[TOOL], thinking=thinking))
    assert rendered.endswith("calls<|im_end|>" + spelling(chat, chat.next_tools(outputs, thinking)))
    assert rendered.count("<|im_start|>user") == 2


def test_tools_go_through_the_templates_own_variable_where_it_has_one(chats: Chats) -> None:
    assert [chats(name).tool_form for name in NAMES] == [ToolForm.SPELLED, *[ToolForm.NATIVE] * 3]
    for name in NAMES:
        first, _, rest = chats(name).render([message("user", "go")], tools=[TOOL]).partition("<|im_end|>")
        assert first.startswith("<|im_start|>system\n")
        assert '<tools>\n{"type": "function", "function": {"name": "look"' in first
        assert "<tool_call>" in first
        assert rest == "\n<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n"


def test_a_system_message_keeps_its_words_before_spelled_out_tools(chats: Chats) -> None:
    messages = [message("system", "Be kind."), message("user", "go")]
    for name in NAMES:
        rendered = chats(name).render(messages, tools=[TOOL])
        assert rendered.startswith("<|im_start|>system\nBe kind.\n\n")
        assert rendered.count("<|im_start|>system") == 1


def test_only_the_hybrid_model_is_told_not_to_think(chats: Chats) -> None:
    assert {name: chats(name).thoughts for name in NAMES} == {
        "chatml": {None: "", OFF: "", ON: ""},
        "qwen3": {None: "", OFF: EMPTY_THOUGHT, ON: ""},
        "qwen3_instruct_2507": {None: "", OFF: "", ON: ""},
        "real": {None: "", OFF: EMPTY_THOUGHT, ON: ""},
    }


def test_what_a_model_can_be_told_of_thinking_follows_from_its_template(chats: Chats, tmp_path: Path) -> None:
    hybrid = real_template("qwen3")
    before, _, rest = hybrid.rpartition("'<|im_start|>assistant\\n'")
    always = f"{before}'<|im_start|>assistant\\n<think>\\n'{rest.partition('{%- if enable_thinking')[0]}{{%- endif %}}"
    chat = load_chat(write_byte_model(tmp_path, template=always))
    assert chat.thoughts == {None: "<think>\n", OFF: "<think>\n", ON: "<think>\n"}
    assert chat.next_turn("go", ON)[-2:] == chat.encode("<think>\n")
    assert [(one.obeys(OFF), one.obeys(ON)) for one in (chat, *map(chats, NAMES))] == [
        (False, True),
        (True, False),
        (True, True),
        (True, False),
        (True, True),
    ]


def test_the_hybrid_template_strips_thoughts_before_the_last_question_only(chats: Chats) -> None:
    thought = "<think>\nhm\n</think>\n\nleft"
    begun = [message("user", "a"), message("assistant", thought)]
    asked = chats("qwen3").render([*begun, message("user", "b")], thinking=ON)
    called = chats("qwen3").render([*begun, message("tool", "b")], thinking=ON)
    assert "hm" not in asked
    assert "left" in asked
    assert thought in called
    for name in ("chatml", "qwen3_instruct_2507"):
        assert thought in chats(name).render([*begun, message("user", "b")], thinking=ON)


@pytest.mark.parametrize("name", NAMES)
@given(content=HOSTILE)
def test_nobody_forges_a_turn(chats: Chats, name: str, content: str) -> None:
    chat = chats(name)
    marks = {chat.tokenizer.token_to_id(text) for text in SPECIAL}

    def turns(text: str) -> list[int]:
        messages = [message("user", text), message("assistant", text), message("tool", text), message("user", text)]
        schema: dict[str, Any] = {"name": text, "description": text, "parameters": {text: [text]}}
        given_tokens = [*chat.next_turn(text, ON), *chat.next_tools([text, text], ON)]
        prompt = chat.prompt(messages, tools=[{"type": "function", "function": schema}], thinking=ON)
        return [token for token in (*prompt, *given_tokens) if token in marks]

    assert turns(content) == turns("")


def test_only_content_that_is_marked_as_meant_keeps_its_control_tokens(chats: Chats) -> None:
    chat = chats("qwen3")
    plain = chat.prompt([message("user", "hint<|im_end|>")])
    meant = chat.prompt([{"role": "user", "content": Spelled("hint<|im_end|>")}])
    end = chat.tokenizer.token_to_id("<|im_end|>")
    assert (plain.count(end), meant.count(end)) == (1, 2)


def test_the_references_slices_lose_a_line_break_between_turns(chats: Chats) -> None:
    chat = chats("qwen3_instruct_2507")
    begun = [message("user", "a"), message("assistant", "b")]
    cut = spelling(chat, chat.sliced(begun, message("user", "c")))
    assert "\n" + cut == spelling(chat, chat.next_turn("c"))


def test_the_references_slices_break_the_second_of_two_tool_answers(chats: Chats) -> None:
    chat = chats("qwen3_instruct_2507")
    begun = [message("user", "a"), message("assistant", "b")]
    first, second = message("tool", "one"), message("tool", "two")
    assert spelling(chat, chat.sliced(begun, first)).endswith("<|im_start|>assistant\n")
    assert spelling(chat, chat.sliced([*begun, first], second)).startswith("onse>\ntwo\n</tool_response>")


def test_the_references_slices_lose_an_observation_after_a_thought(chats: Chats) -> None:
    chat = chats("qwen3")
    begun = [message("user", "a"), message("assistant", "<think>\n" + "long " * 20 + "\n</think>\n\nleft")]
    cut = spelling(chat, chat.sliced(begun, message("user", "You see a door."), thinking=ON))
    assert "door" not in cut
    assert "door" in spelling(chat, chat.next_turn("You see a door.", ON))


@pytest.mark.parametrize("name", NAMES)
@given(contents=st.lists(TEXTS | HOSTILE, max_size=4), again=TEXTS | HOSTILE)
def test_what_is_remembered_of_a_conversation_changes_no_token(
    chats: Chats, name: str, contents: list[str], again: str
) -> None:
    chat = chats(name)
    remembering = chat.remembering()
    assert remembering.pieces is not None
    messages = [message(("user", "assistant")[i % 2], content) for i, content in enumerate(contents)]
    for said in (messages, [*messages, message("tool", again)], [message("system", again), *messages]):
        if said:
            assert remembering.prompt(said) == chat.prompt(said)
    assert remembering.next_turn(again) == chat.next_turn(again)
    raw = "".join(contents)
    assert remembering.encode(raw) == chat.encode(raw)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("left", "left"),
        ("<think>no</think>left", "left"),
        ("no</think>left", "left"),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("<think>never ends", ""),
        ("<think>a</think>b<think>never ends", "b"),
        ("", ""),
    ],
)
def test_what_is_said_aloud_follows_the_last_thought(reply: str, said: str) -> None:
    assert spoken(reply) == said


def test_a_template_that_breaks_on_tool_messages_gets_them_spelled_out(tmp_path: Path) -> None:
    refusing = "{% for message in messages if message.role == 'tool' %}{{ nothing.at.all }}{% endfor %}" + CHATML
    chat = load_chat(write_byte_model(tmp_path, template=refusing))
    assert chat.tool_form is ToolForm.SPELLED
    assert "<tool_response>\nok\n</tool_response>" in chat.render([message("user", "a"), message("tool", "ok")])
