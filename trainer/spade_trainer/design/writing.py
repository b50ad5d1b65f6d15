"""Who answers a request: the policy, in tokens that are trained, or a model at an endpoint, in words that are not."""

from collections.abc import Sequence
from dataclasses import dataclass

from spade_contracts.config.sampling import SamplingConfig
from spade_contracts.engine_api import GenerateRequest
from spade_trainer.chat import Chat
from spade_trainer.design.endpoint import Ask
from spade_trainer.design.prompt import ChatMessage
from spade_trainer.flaws import ObserveFlaw, flaws_of, unobserved
from spade_trainer.play.episode import Generate
from spade_trainer.play.tokens import add_drawn, begin, finish
from spade_trainer.store.designs import NO_USAGE, Usage
from spade_trainer.store.episodes import Trajectory


@dataclass(frozen=True)
class Policy:
    """The policy that answers: its words, its engines, its version."""

    chat: Chat
    generate: Generate
    version: int
    observe: ObserveFlaw = unobserved
    """Told of each flaw of an answer."""

    def room(self, prompt: Sequence[int]) -> int:
        """Tokens that an answer to a prompt may have in the model's context; not positive: none."""
        return self.chat.context_tokens - len(prompt)


@dataclass(frozen=True)
class Written:
    """One answer."""

    text: str
    trajectory: Trajectory
    """Prompt and answer in the policy's tokens; empty if another model wrote it."""
    usage: Usage
    """Of an endpoint."""
    tokens: int
    """Tokens that the policy drew."""


async def by_policy(
    policy: Policy,
    prompt: Sequence[int],
    sampling: SamplingConfig,
    *,
    seed: int,
    timeout_seconds: float,
    keep_end: bool = False,
) -> Written:
    """The policy's answer to a prompt that leaves room for one, with its end token in words if that is wanted.

    Raises InfrastructureFault if engines fail.
    """
    transcript = begin(prompt)
    request = GenerateRequest(
        token_ids=tuple(prompt),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        max_new_tokens=min(sampling.max_new_tokens, policy.room(prompt)),
        seed=seed,
        policy_version=policy.version,
    )
    drawn = await policy.generate(request, timeout_seconds)
    add_drawn(transcript, drawn, request)
    text = policy.chat.decode(drawn.token_ids, keep_end=keep_end)
    for flaw in flaws_of(policy.chat, drawn, policy.chat.decode(drawn.token_ids) if keep_end else text):
        policy.observe(flaw)
    return Written(text, finish(transcript), NO_USAGE, len(drawn.token_ids))


async def by_endpoint(ask: Ask, messages: Sequence[ChatMessage], sampling: SamplingConfig) -> Written:
    """A model's answer at an endpoint. Raises EndpointUnavailable, EndpointRefused."""
    answer = await ask(messages, sampling)
    return Written(answer.text, no_tokens(), answer.usage, 0)


def no_tokens() -> Trajectory:
    """The trajectory of what the policy did not write: nothing of it is trained."""
    return finish(begin(()))
