"""An engine that speaks the data port's protocol and whose words come from a script instead of a model.

It designs number games of varying size, some of them broken, hints at them and plays them; every word is a function of
the request, so that the same request gets the same tokens at any time.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from spade_contracts.engine_api import (
    EngineErrorBody,
    FinishReason,
    GenerateRequest,
    GenerateResponse,
    VersionSpan,
)
from spade_contracts.tokens import token_digest, token_matches
from spade_trainer.chat import Chat

TOKEN = "an engine token of the tests"
PROGRAM = """\
import random


class NumberGameEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.target = random.Random(seed).randint(2, {high})
        self.turns = 0
        return "Find the number from 1 to {high}.", {{}}

    def step(self, action):
        self.turns += 1
        out = self.turns >= self.max_turns
        text = action.strip().removeprefix("\\\\boxed{{").removesuffix("}}")
        if not text.isdecimal():
            return "Name a number.", 0.0, False, out, {{}}
        guess = int(text)
        if guess == self.target:
            return "Found.", 1.0, True, False, {{}}
        {crash}
        return ("Higher." if guess < self.target else "Lower."), 0.1, False, out, {{}}
"""


@dataclass
class ScriptedEngine:
    """The engine's changing state, for the test to look at and to change."""

    chat: Chat
    policy_version: int = 0
    delay: Callable[[GenerateRequest], Awaitable[None]] = lambda request: asyncio.sleep(0)
    served: int = 0
    requests: list[GenerateRequest] = field(default_factory=list)

    def answer(self, request: GenerateRequest) -> str:
        """What is said to a request."""
        prompt = self.chat.tokenizer.decode(list(request.token_ids), skip_special_tokens=False)
        if "Write one Python game class" in prompt:
            if request.seed % 4 == 0:
                return "```python\nclass BrokenEnv(:\n```"
            crash = "assert guess != 3, 'three'" if request.seed % 5 == 0 else "pass"
            return f"```python\n{PROGRAM.format(high=30 + request.seed % 60, crash=crash)}```"
        if "one short hint" in prompt:
            return "Start in the middle."
        seen = prompt.rpartition("<|im_start|>user\n")[2]
        low, high = 1, int((re.search(r"from 1 to (\d+)", prompt) or [0, 9])[1])
        for guess, word in re.findall(r"boxed\{(\d+)\}<\|im_end\|>\n<\|im_start\|>user\n(Higher|Lower)", prompt):
            low, high = (max(low, int(guess) + 1), high) if word == "Higher" else (low, min(high, int(guess) - 1))
        middle = (low + high) // 2
        guess = middle if "HINT" in prompt or request.seed % 2 else 1 + request.seed % 9
        return f"I saw {len(seen)} characters. \\boxed{{{guess}}}"


def generation(engine: ScriptedEngine, request: GenerateRequest) -> GenerateResponse:
    """The answer as the protocol carries it."""
    tokens = engine.chat.encode(f"{engine.answer(request)}<|im_end|>")
    ended = len(tokens) <= request.max_new_tokens
    tokens = tokens[: request.max_new_tokens]
    return GenerateResponse(
        token_ids=tuple(tokens),
        log_probs=tuple(-0.01 * (1 + (request.seed + i) % 90) for i in range(len(tokens))),
        finish_reason=FinishReason.STOP if ended else FinishReason.LENGTH,
        spans=(VersionSpan(policy_version=engine.policy_version, tokens=len(tokens)),),
        boot_id="scripted",
    )


@asynccontextmanager
async def serving(engine: ScriptedEngine) -> AsyncIterator[str]:
    """Serve the data port; yields `host:port`."""
    digest = token_digest(TOKEN)

    async def generate(request: web.Request) -> web.Response:
        if not token_matches(request.headers.get("Authorization", "").removeprefix("Bearer "), digest):
            return _refusal(401, "unauthorized")
        wanted = GenerateRequest.model_validate_json(await request.read())
        if wanted.policy_version != engine.policy_version:
            return _refusal(409, "wrong_policy")
        engine.requests.append(wanted)
        await engine.delay(wanted)
        engine.served += 1
        body = generation(engine, wanted).model_dump_json().encode()
        return web.Response(body=body, content_type="application/json")

    app = web.Application(client_max_size=2**24)
    app.add_routes([web.post("/generate", generate)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"{host}:{port}"
    finally:
        await runner.cleanup()


def _refusal(status: int, error: str) -> web.Response:
    body = EngineErrorBody(error=error, message="as the test wants it").model_dump_json().encode()
    return web.Response(status=status, body=body, content_type="application/json")
