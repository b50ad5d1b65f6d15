"""A policy's tokenizer and chat template, read from its folder without torch or transformers (quick to start).

Text that an environment, a document or a hint supplies can never speak as another role: the model's control tokens in
it are broken up before anything is rendered.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from spade_contracts.config.sampling import Thinking
from spade_contracts.errors import InvalidInput
from spade_trainer.engine.model_facts import read_model_facts
from spade_trainer.letters import Letters, letters_of
from spade_trainer.words import Words, encoded, words_of

TURN_END = "<|im_end|>"
TURN_BREAK = "\n<|im_start|>user\n"
"""What follows an assistant's end token when the user speaks next (ChatML)."""
ANSWER = "<|im_start|>assistant\n"
"""How an assistant's turn begins (ChatML)."""
TURN_ANSWER = f"{TURN_END}\n{ANSWER}"
"""What follows the user's words when the assistant speaks next (ChatML)."""
THINK, THINK_END = "<think>", "</think>"
USER, ASSISTANT, TOOL = "user", "assistant", "tool"


class ChatTemplateUnsupported(InvalidInput):
    """The model's chat template does not append turns the ChatML way, so episodes cannot be tokenised explicitly."""


class Spelled(str):
    """Content whose control tokens are meant: it is rendered as it stands. Never made of others' words unbroken."""


class ToolForm(StrEnum):
    """How a template shows tools and what they answer."""

    NATIVE = "native"
    """By its own variable `tools` and messages of the role `tool`."""
    SPELLED = "spelled"
    """It cannot; tools stand in a system message, and their answers in the user's words, in Qwen's form."""


@dataclass(frozen=True)
class Chat:
    """One policy's way from messages to tokens and back."""

    tokenizer: Any
    """`tokenizers.Tokenizer`, without truncation and padding."""
    template: Any
    """Compiled jinja template."""
    variables: Mapping[str, str]
    """Names of special tokens that templates may use."""
    control: re.Pattern[str]
    """Matches every control token's text."""
    stop_token_ids: frozenset[int]
    """A generation that ends by itself ends with one of these."""
    context_tokens: int
    """Longest sequence that the model's positions allow."""
    tool_form: ToolForm = ToolForm.SPELLED
    thoughts: Mapping[Thinking | None, str] = field(default_factory=dict)
    """What the template puts behind ANSWER before the assistant speaks, such as an empty think block."""
    pieces: dict[str, list[int]] | None = field(default=None, repr=False, compare=False)
    """Tokens of texts between control tokens that were encoded before; None: nothing is remembered."""
    words: Words | None = field(default=None, repr=False, compare=False)
    """Of the tokenizer, where texts can be encoded word by word; all conversations share them."""
    letters: Letters | None = field(default=None, repr=False, compare=False)
    """Of the tokenizer, where tokens can be decoded one by one."""

    def remembering(self) -> "Chat":
        """The same for one conversation, whose texts are rendered again and again: each is encoded once.

        Control tokens part a text for the tokenizer, so what stands between two of them has the same tokens anywhere.
        Tokenizers that do not keep to that are not helped.
        """
        probe = f" a{TURN_BREAK}b {TURN_ANSWER} c"
        helped = replace(self, pieces={})
        return helped if helped.encode(probe) == self.encode(probe) else self

    def obeys(self, thinking: Thinking) -> bool:
        """Whether the template can be told so: it knows the setting, or the model thinks, or does not, in any case."""
        begun = self.thoughts[thinking]
        if THINK in begun and THINK_END not in begun:
            return thinking is Thinking.ON
        return thinking is Thinking.OFF or self.thoughts[Thinking.OFF] != self.thoughts[Thinking.ON]

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        thinking: Thinking | None = None,
        answering: bool = True,
    ) -> str:
        """The conversation as the chat template spells it, up to where the assistant begins to speak.

        tools: function schemas. thinking: the template's `enable_thinking`; None leaves it undefined. answering: False
        ends the text with the last message.
        """
        shown = [{"role": str(m["role"]), "content": self._content(m["content"])} for m in messages]
        schemas = [self._harmless_json(tool) for tool in tools]
        if self.tool_form is ToolForm.SPELLED:
            shown, schemas = _spelled_out(shown, schemas), []
        variables: dict[str, Any] = {**self.variables, **({"tools": schemas} if schemas else {})}
        if thinking is not None:
            variables["enable_thinking"] = thinking is Thinking.ON
        return str(self.template.render(messages=shown, add_generation_prompt=answering, **variables))

    def encode(self, text: str) -> list[int]:
        """Token ids of a rendered text; control tokens in it count as such."""
        if self.pieces is None:
            return encoded(self.tokenizer, text)
        tokens: list[int] = []
        start = 0
        for end in [*(position for mark in self.control.finditer(text) for position in mark.span()), len(text)]:
            piece = text[start:end]
            if piece not in self.pieces:
                self.pieces[piece] = self.respelled(piece)
            tokens += self.pieces[piece]
            start = end
        return tokens

    def respelled(self, text: str) -> list[int]:
        """The same of a text between two control tokens, of words met before if it can be."""
        found = self.pieces.get(text) if self.pieces is not None else None
        if found is None:
            found = encoded(self.tokenizer, text) if self.words is None else self.words.encode(text)
        return found

    def prompt(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        thinking: Thinking | None = None,
    ) -> list[int]:
        """Token ids of a conversation, up to where the assistant begins to speak."""
        return self.encode(self.render(messages, tools=tools, thinking=thinking))

    def next_turn(self, content: str, thinking: Thinking | None = None) -> list[int]:
        """Token ids between an assistant's end token and the assistant's next word, when the user says `content`.

        Rendered explicitly, never by cutting two renderings (method.md §8.6, D9).
        """
        return self._answered(self.harmless(content), thinking)

    def next_tools(self, outputs: Sequence[str], thinking: Thinking | None = None) -> list[int]:
        """The same, when the tools called in the assistant's turn have answered, in the order of the calls."""
        return self._answered(tool_answers([self.harmless(output) for output in outputs]), thinking)

    def sliced(
        self,
        earlier: Sequence[Mapping[str, object]],
        newest: Mapping[str, object],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        thinking: Thinking | None = None,
    ) -> list[int]:
        """Token ids that the reference takes for the newest message: two renderings, cut by the length of the shorter.

        Loses the line break of a turn, breaks the second of two tool answers, and loses most of what follows a think
        block that the template strips (method.md §8.6, D9).
        """
        before = self.render(earlier, tools=tools, thinking=thinking, answering=False)
        return self.encode(self.render([*earlier, newest], tools=tools, thinking=thinking)[len(before) :])

    def _answered(self, content: str, thinking: Thinking | None) -> list[int]:
        return self.encode(f"{TURN_BREAK}{content}{TURN_ANSWER}{self.thoughts.get(thinking, '')}")

    def decode(self, token_ids: Sequence[int], *, keep_end: bool = False) -> str:
        """The text of drawn tokens, without the end token, unless it is to be kept (method.md §13.2 D1)."""
        ended = token_ids and token_ids[-1] in self.stop_token_ids and not keep_end
        return self.text(token_ids[:-1] if ended else token_ids)

    def text(self, token_ids: Sequence[int]) -> str:
        """The text of any tokens, control tokens included."""
        if self.letters is not None:
            return self.letters.decode(token_ids)
        return str(self.tokenizer.decode(list(token_ids), skip_special_tokens=False))

    def token_text(self, token_id: int) -> str:
        """The spelling of one token in the vocabulary; empty for an unknown id."""
        return str(self.tokenizer.id_to_token(token_id) or "")

    def _content(self, content: object) -> str:
        return content if isinstance(content, Spelled) else self.harmless(str(content))

    def _harmless_json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.harmless(value)
        if isinstance(value, Mapping):
            return {self.harmless(str(name)): self._harmless_json(inner) for name, inner in value.items()}
        return [self._harmless_json(inner) for inner in value] if isinstance(value, list | tuple) else value

    def harmless(self, content: str) -> str:
        """The text with control tokens broken by a space, and without code points that UTF-8 cannot hold."""
        text = content.encode("utf-8", "replace").decode()
        return self.control.sub(lambda match: f"{match.group()[0]} {match.group()[1:]}", text)


def load_chat(folder: Path) -> Chat:
    """The tokenizer and chat template of a policy's folder.

    Raises InvalidInput for missing or broken files, and ChatTemplateUnsupported.
    """
    from tokenizers import Tokenizer

    facts = read_model_facts(folder)
    settings = _json(folder / "tokenizer_config.json")
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises bare Exception
        raise InvalidInput(str(folder / "tokenizer.json"), f"is no tokenizer: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    special = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special]
    chat = Chat(
        tokenizer=tokenizer,
        template=_template(folder, settings),
        variables={
            name: _text(settings[name]) for name in ("bos_token", "eos_token", "pad_token") if settings.get(name)
        },
        control=re.compile("|".join(re.escape(text) for text in sorted(special, key=len, reverse=True)) or r"(?!)"),
        stop_token_ids=frozenset(facts.stop_token_ids),
        context_tokens=facts.max_tokens,
        words=words_of(tokenizer),
        letters=letters_of(tokenizer),
    )
    _check_turns(folder, chat)
    return replace(chat, thoughts=_thoughts(chat), tool_form=_tool_form(chat))


def spoken(reply: str) -> str:
    """What of a reply is said aloud: what follows its last think block, up to one that never ends."""
    return reply.rpartition(THINK_END)[2].partition(THINK)[0]


def tool_answers(outputs: Sequence[str]) -> str:
    """What tools answered, as the user's turn spells it in Qwen's form."""
    return "\n".join(f"<tool_response>\n{output}\n</tool_response>" for output in outputs)


def _spelled_out(messages: list[dict[str, str]], schemas: Sequence[Any]) -> list[dict[str, str]]:
    """The conversation for a template that knows no tools: neighbouring tool messages become one user message."""
    spelled: list[dict[str, str]] = []
    for position, message in enumerate(messages):
        content = tool_answers([message["content"]]) if message["role"] == TOOL else message["content"]
        if message["role"] == TOOL and position and messages[position - 1]["role"] == TOOL:
            spelled[-1] = {"role": USER, "content": f"{spelled[-1]['content']}\n{content}"}
        else:
            spelled.append({"role": USER if message["role"] == TOOL else message["role"], "content": content})
    if not schemas:
        return spelled
    listed = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas)
    form = '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    shown = f"Tools:\n<tools>\n{listed}\n</tools>\nCall a tool as\n{form}"
    if spelled and spelled[0]["role"] == "system":
        return [{"role": "system", "content": f"{spelled[0]['content']}\n\n{shown}"}, *spelled[1:]]
    return [{"role": "system", "content": shown}, *spelled]


def _check_turns(folder: Path, chat: Chat) -> None:
    """Compare explicit turns with the template's own on a conversation of three messages."""
    first, answer, second = "What is seen?", "It is \\boxed{left}", "And now?"
    start = [{"role": USER, "content": first}]
    whole = [*start, {"role": ASSISTANT, "content": answer}, {"role": USER, "content": second}]
    begun = chat.render(start, answering=False) + ANSWER
    expected = f"{begun}{answer}{TURN_END}{TURN_BREAK}{second}{TURN_ANSWER}"
    same = chat.render(whole).startswith(expected) and chat.render(start).startswith(begun)
    if not same or TURN_END not in {chat.token_text(i) for i in chat.stop_token_ids}:
        raise ChatTemplateUnsupported(
            str(folder), "its chat template is not ChatML", remedy="Use a model with Qwen's turn format."
        )


def _thoughts(chat: Chat) -> dict[Thinking | None, str]:
    """What the template puts before the assistant's own words, by setting."""
    start = [{"role": USER, "content": "x"}]
    begun = chat.render(start, answering=False) + ANSWER
    settings: tuple[Thinking | None, ...] = (None, *Thinking)
    return {thinking: chat.render(start, thinking=thinking).removeprefix(begun) for thinking in settings}


def _tool_form(chat: Chat) -> ToolForm:
    """Whether the template shows tools, and answers of two of them in one turn as `next_tools` spells them."""
    from jinja2 import TemplateError

    native = replace(chat, tool_form=ToolForm.NATIVE)
    schema = {"type": "function", "function": {"name": "probe", "description": "", "parameters": {}}}
    start = [{"role": USER, "content": "x"}, {"role": ASSISTANT, "content": "y"}]
    answers = [{"role": TOOL, "content": "one"}, {"role": TOOL, "content": "two"}]
    try:
        begun = native.render(start, tools=[schema], answering=False).removesuffix("\n")
        whole = native.render([*start, *answers], tools=[schema], answering=False)
    except TemplateError:
        return ToolForm.SPELLED
    expected = f"{TURN_BREAK}{tool_answers(['one', 'two'])}{TURN_END}"
    fits = '"probe"' in begun and begun.endswith(TURN_END) and whole.rstrip("\n").endswith(f"y{TURN_END}{expected}")
    return ToolForm.NATIVE if fits else ToolForm.SPELLED


def _template(folder: Path, settings: dict[str, Any]) -> Any:
    """The compiled chat template, from its own file or from the tokenizer's settings."""
    from jinja2 import TemplateError
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    own = folder / "chat_template.jinja"
    source = own.read_text(encoding="utf-8") if own.exists() else settings.get("chat_template")
    if isinstance(source, list):
        source = {entry["name"]: entry["template"] for entry in source}.get("default")
    if not isinstance(source, str):
        raise InvalidInput(str(folder), "has no chat template")
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        return environment.from_string(source)
    except TemplateError as error:
        raise InvalidInput(str(folder), f"its chat template cannot be read: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    """A JSON object in a file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(str(path), f"is no readable JSON file: {error}") from error
    if not isinstance(content, dict):
        raise InvalidInput(str(path), "is no JSON object")
    return content


def _text(token: Any) -> str:
    """A special token's text, as plain text or as an object."""
    return str(token["content"] if isinstance(token, dict) else token)
