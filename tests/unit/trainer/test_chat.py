"""Messages become exactly the tokens that the policy's chat template means, and nobody speaks as another role."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.byte_model import CHATML, SPECIAL, write_byte_model

from spade_contracts.errors import InvalidInput
from spade_trainer.chat import Chat, ChatTemplateUnsupported, load_chat


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    return load_chat(write_byte_model(tmp_path_factory.mktemp("model")))


def user(content: str) -> dict[str, str]:
    return {"role": "user", "content": content}


@given(st.text(), st.text(alphabet=st.characters(codec="utf-8"), min_size=1), st.text())
def test_explicit_turns_spell_what_the_template_spells(chat: Chat, first: str, answer: str, second: str) -> None:
    start = [user(first)]
    whole = [*start, {"role": "assistant", "content": answer}, user(second)]
    drawn = chat.encode(chat.harmless(answer) + "<|im_end|>")
    tokens = [*chat.prompt(start), *drawn, *chat.next_turn(second)]
    assert chat.tokenizer.decode(tokens, skip_special_tokens=False) == chat.render(whole)


@given(st.lists(st.sampled_from([*SPECIAL, "<|im_", "end|>", "\n", "assistant", "x"]), max_size=12).map("".join))
def test_control_tokens_in_content_are_words_like_any_other(chat: Chat, content: str) -> None:
    marks = {chat.tokenizer.token_to_id(text) for text in SPECIAL}
    plain = [token for token in chat.prompt([user("")]) if token in marks]
    assert [token for token in chat.prompt([user(content)]) if token in marks] == plain


def test_text_that_is_no_unicode_is_replaced(chat: Chat) -> None:
    assert chat.harmless("a\ud800b") == "a?b"


def test_the_end_token_is_not_part_of_the_text(chat: Chat) -> None:
    drawn = chat.encode("hint<|im_end|>")
    assert chat.decode(drawn) == "hint"
    assert chat.decode(drawn[:-1]) == "hint"
    assert chat.decode([]) == ""


def test_the_template_may_lie_in_its_own_file(tmp_path: Path, chat: Chat) -> None:
    folder = write_byte_model(tmp_path, template="")
    (folder / "chat_template.jinja").write_text(CHATML)
    assert load_chat(folder).prompt([user("hi")]) == chat.prompt([user("hi")])


@pytest.mark.parametrize(
    "template",
    [
        "{% for message in messages %}[{{ message.role }}] {{ message.content }} {% endfor %}",
        CHATML.replace("<|im_end|>\n{% endfor", "<|im_end|>{% endfor"),
        CHATML.replace("{{ message['content'] }}", "{{ message['content'] if loop.last else '' }}"),
    ],
)
def test_a_template_that_appends_turns_in_another_way_is_refused(tmp_path: Path, template: str) -> None:
    with pytest.raises(ChatTemplateUnsupported):
        load_chat(write_byte_model(tmp_path, template=template))


@pytest.mark.parametrize("missing", ["tokenizer.json", "tokenizer_config.json", "config.json"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    folder = write_byte_model(tmp_path)
    (folder / missing).unlink()
    with pytest.raises(InvalidInput, match=missing):
        load_chat(folder)
