"""A policy's tokenizer and chat template, read from its folder without torch or transformers (quick to start).

Text that an environment, a document or a hint supplies can never speak as another role: the model's control tokens in
it are broken up before anything is rendered.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spade_contracts.errors import InvalidInput
from spade_trainer.engine.model_facts import read_model_facts

TURN_BREAK = "\n<|im_start|>user\n"
"""What follows an assistant's end token when the user speaks next (ChatML)."""
TURN_ANSWER = "<|im_end|>\n<|im_start|>assistant\n"
"""What follows the user's words when the assistant speaks next (ChatML)."""
TURN_END = "<|im_end|>"


class ChatTemplateUnsupported(InvalidInput):
    """The model's chat template does not append turns the ChatML way, so episodes cannot be tokenised explicitly."""


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

    def render(self, messages: Sequence[Mapping[str, object]]) -> str:
        """The conversation as the chat template spells it, up to where the assistant begins to speak."""
        shown = [{"role": message["role"], "content": self.harmless(str(message["content"]))} for message in messages]
        return str(self.template.render(messages=shown, add_generation_prompt=True, **self.variables))

    def encode(self, text: str) -> list[int]:
        """Token ids of a rendered text; control tokens in it count as such."""
        # The batch call leaves out character offsets, which cost a third of the time.
        return list(self.tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids)

    def prompt(self, messages: Sequence[Mapping[str, object]]) -> list[int]:
        """Token ids of a conversation, up to where the assistant begins to speak."""
        return self.encode(self.render(messages))

    def next_turn(self, content: str) -> list[int]:
        """Token ids between an assistant's end token and the assistant's next word, when the user says `content`.

        Rendered explicitly, never by cutting two renderings (method.md §8.6, D9).
        """
        return self.encode(f"{TURN_BREAK}{self.harmless(content)}{TURN_ANSWER}")

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of drawn tokens, without the end token (method.md §13.2 D1)."""
        ended = token_ids and token_ids[-1] in self.stop_token_ids
        return str(self.tokenizer.decode(list(token_ids[:-1] if ended else token_ids), skip_special_tokens=False))

    def token_text(self, token_id: int) -> str:
        """The spelling of one token in the vocabulary; empty for an unknown id."""
        return str(self.tokenizer.id_to_token(token_id) or "")

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
    )
    _check_turns(folder, chat)
    return chat


def _check_turns(folder: Path, chat: Chat) -> None:
    """Compare explicit turns with the template's own on a conversation of three messages."""
    first, answer, second = "What is seen?", "It is \\boxed{left}", "And now?"
    start = [{"role": "user", "content": first}]
    whole = [*start, {"role": "assistant", "content": answer}, {"role": "user", "content": second}]
    expected = f"{chat.render(start)}{answer}{TURN_END}{TURN_BREAK}{second}{TURN_ANSWER}"
    if chat.render(whole) != expected or TURN_END not in {chat.token_text(i) for i in chat.stop_token_ids}:
        raise ChatTemplateUnsupported(
            str(folder), "its chat template is not ChatML", remedy="Use a model with Qwen's turn format."
        )


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
