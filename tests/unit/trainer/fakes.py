"""Engines and environments whose words are given by the test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from spade_contracts.engine_api import FinishReason, GenerateRequest, GenerateResponse, VersionSpan
from spade_contracts.errors import EnvironmentFault
from spade_sandbox.client import CallResult, StepResult, Tool
from spade_trainer.chat import Chat
from spade_trainer.play.episode import Generate, OpenSession

Script = Callable[[str, GenerateRequest], str]
"""Prompt text and request → the answer's text."""


def scripted(chat: Chat, script: Script, requests: list[GenerateRequest] | None = None) -> Generate:
    """An engine that answers by a script, with log-probabilities that depend on position and seed."""

    async def generate(request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        if requests is not None:
            requests.append(request)
        await asyncio.sleep(0)
        text = script(chat.tokenizer.decode(list(request.token_ids), skip_special_tokens=False), request)
        tokens = chat.encode(text + "<|im_end|>")
        finish = FinishReason.STOP if len(tokens) <= request.max_new_tokens else FinishReason.LENGTH
        tokens = tokens[: request.max_new_tokens]
        return GenerateResponse(
            token_ids=tuple(tokens),
            log_probs=tuple(-0.01 * (1 + (request.seed + i) % 90) for i in range(len(tokens))),
            finish_reason=finish,
            spans=(VersionSpan(policy_version=request.policy_version, tokens=len(tokens)),),
            boot_id="scripted",
        )

    return generate


def step(observation: str, reward: float = 0.0, *, terminated: bool = False, truncated: bool = False) -> StepResult:
    return StepResult(observation, reward, terminated, truncated, {})


@dataclass
class ScriptedSession:
    """An environment that answers with given steps, or raises a given fault in their place."""

    steps: Sequence[StepResult | Exception]
    first: str = "Guess a number."
    reset_fault: Exception | None = None
    actions: list[str] = field(default_factory=list)
    seeds: list[int | None] = field(default_factory=list)
    offered: Sequence[Tool] = ()
    outputs: Callable[[str, str], CallResult] = lambda name, arguments: CallResult(f"{name} did {arguments}", 0)
    """What a tool says to its name and arguments."""
    calls: list[tuple[str, str]] = field(default_factory=list)

    async def reset(self, seed: int | None) -> str:
        self.seeds.append(seed)
        if self.reset_fault:
            raise self.reset_fault
        return self.first

    async def step(self, action: str) -> StepResult:
        self.actions.append(action)
        result = self.steps[len(self.actions) - 1]
        if isinstance(result, Exception):
            raise result
        return result

    async def tools(self) -> tuple[Tool, ...]:
        return tuple(self.offered)

    async def call(self, name: str, arguments: str) -> CallResult:
        self.calls.append((name, arguments))
        return self.outputs(name, arguments)


def opening(session: ScriptedSession) -> OpenSession:
    """Opens this session whatever the program."""

    @asynccontextmanager
    async def open_session(source: str) -> AsyncIterator[ScriptedSession]:
        yield session

    return open_session


def program_crash() -> EnvironmentFault:
    return EnvironmentFault("crash", "crash: ZeroDivisionError")
