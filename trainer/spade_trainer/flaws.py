"""What is wrong with an answer of the policy before anybody looks at what it says; each flaw is counted (figures)."""

from collections.abc import Callable, Iterator
from enum import StrEnum

from spade_contracts.engine_api import FinishReason, GenerateResponse
from spade_trainer.chat import Chat


class Flaw(StrEnum):
    """One flaw of an answer."""

    UNENDED = "unended"
    """It has no end token: it ran into its bound of tokens, or stopped at something else."""
    CONTROL_TOKENS = "control_tokens"
    """Control tokens of the model stand in its text. They are broken up wherever that text is shown again."""
    MALFORMED_CALL = "malformed_call"
    """It asks for a tool in a form that cannot be read, so it is not trained (method.md §5.3)."""


ObserveFlaw = Callable[[Flaw], None]


def unobserved(what: object) -> None:
    """Nobody counts."""


def ended(chat: Chat, drawn: GenerateResponse) -> bool:
    """Whether an answer ended by itself, with an end token."""
    return drawn.finish_reason is FinishReason.STOP and drawn.token_ids[-1] in chat.stop_token_ids


def flaws_of(chat: Chat, drawn: GenerateResponse, text: str) -> Iterator[Flaw]:
    """The flaws of an answer that its tokens and letters show. text: what was drawn, without the end token."""
    if not ended(chat, drawn):
        yield Flaw.UNENDED
    if chat.control.search(text):
        yield Flaw.CONTROL_TOKENS
