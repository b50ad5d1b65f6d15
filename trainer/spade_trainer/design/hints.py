"""Writing a hint for an accepted program (method.md §3)."""

from dataclasses import dataclass

from spade_contracts.config import HintConfig
from spade_contracts.config.sampling import Thinking
from spade_contracts.engine_api import GenerateRequest
from spade_trainer.chat import Chat
from spade_trainer.design.hint_prompt import hint_messages, parse_hint
from spade_trainer.play.episode import Generate
from spade_trainer.randomness import Purpose, seed_for


@dataclass(frozen=True)
class Hint:
    """A hint, or None if none could be written, and the tokens drawn for it."""

    text: str | None
    tokens: int


@dataclass(frozen=True)
class HintPlace:
    """Where hints are written: what all hints of a cycle share."""

    run_seed: int
    settings: HintConfig
    template: str
    policy_version: int
    timeout_seconds: float
    chat: Chat
    generate: Generate
    keep_end: bool = False
    """Whether the end token stays in the hint (switch hintEnding, D1)."""


async def write_hint(place: HintPlace, program: str, *keys: int) -> Hint:
    """Ask the policy for a hint until one is left after parsing, or the attempts are used up.

    keys: cycle, slot, attempt of the program. A program that leaves no room for an answer gets no hint. Hints
    are written without thinking. Raises InfrastructureFault if the engines fail.
    """
    prompt = place.chat.prompt(hint_messages(place.template, program), thinking=Thinking.OFF)
    room = place.chat.context_tokens - len(prompt)
    tokens = 0
    for attempt in range(place.settings.attempts if room > 0 else 0):
        sampling = place.settings.sampling
        drawn = await place.generate(
            GenerateRequest(
                token_ids=tuple(prompt),
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=sampling.top_k,
                max_new_tokens=min(sampling.max_new_tokens, room),
                seed=seed_for(place.run_seed, Purpose.HINT, *keys, attempt),
                policy_version=place.policy_version,
            ),
            place.timeout_seconds,
        )
        tokens += len(drawn.token_ids)
        text = parse_hint(place.chat.decode(drawn.token_ids, keep_end=place.keep_end))
        if text is not None:
            return Hint(text, tokens)
    return Hint(None, tokens)
