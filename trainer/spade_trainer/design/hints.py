"""Writing a hint for an accepted program (method.md §3)."""

from dataclasses import dataclass

from spade_contracts.config import HintConfig
from spade_contracts.config.sampling import Thinking
from spade_trainer.design.endpoint import Ask
from spade_trainer.design.hint_prompt import hint_messages, parse_hint
from spade_trainer.design.prompt import ChatMessage
from spade_trainer.design.writing import Policy, Written, by_endpoint, by_policy
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.store.designs import NO_USAGE, Usage


@dataclass(frozen=True)
class Hint:
    """A hint, or None if none could be written, and the tokens drawn for it."""

    text: str | None
    tokens: int
    usage: Usage = NO_USAGE


@dataclass(frozen=True)
class HintPlace:
    """Where hints are written: what all hints of a cycle share."""

    run_seed: int
    settings: HintConfig
    template: str
    timeout_seconds: float
    policy: Policy
    endpoint: Ask | None = None
    """Who is asked in place of the policy."""
    keep_end: bool = False
    """Whether the end token stays in the policy's hint (switch hintEnding, D1)."""


async def write_hint(place: HintPlace, program: str, *keys: int) -> Hint:
    """Ask for a hint until one is left after parsing, or the attempts are used up.

    keys: cycle, slot, attempt of the program. A program that leaves no room for an answer gets no hint. The policy
    writes them without thinking. Raises InfrastructureFault if engines or the endpoint fail.
    """
    messages = hint_messages(place.template, program)
    prompt = place.policy.chat.prompt(messages, thinking=Thinking.OFF) if place.endpoint is None else []
    tokens, usage = 0, NO_USAGE
    for attempt in range(place.settings.attempts if place.policy.room(prompt) > 0 else 0):
        seed = seed_for(place.run_seed, Purpose.HINT, *keys, attempt)
        written = await _written(place, messages, prompt, seed)
        tokens, usage = tokens + written.tokens, usage + written.usage
        text = parse_hint(written.text)
        if text is not None:
            return Hint(text, tokens, usage)
    return Hint(None, tokens, usage)


async def _written(place: HintPlace, messages: list[ChatMessage], prompt: list[int], seed: int) -> Written:
    if place.endpoint is not None:
        return await by_endpoint(place.endpoint, messages, place.settings.sampling)
    sampling, timeout = place.settings.sampling, place.timeout_seconds
    return await by_policy(place.policy, prompt, sampling, seed=seed, timeout_seconds=timeout, keep_end=place.keep_end)
