"""Stage `judge`: a model reads the program and must say yes (design §10; method.md §4.3 accepts on any failure, this
stage on none).

A judge is a callable from prompt to answer, so the caller decides which model it is; `judge_at` makes one of an
OpenAI-compatible endpoint. The program is hostile text in the prompt. The verdict's line therefore carries a mark made
of the program's digest, which the program itself cannot spell, and a line without the mark says nothing.
"""

import asyncio
import contextlib
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import JudgeSettings, JudgeSource, OptionalStage, VerificationSettings
from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify.trial import Program

if TYPE_CHECKING:
    import aiohttp

STAGE = Stage.JUDGE
Judge = Callable[[str], Awaitable[str]]
"""From prompt to the model's whole answer. May raise anything: every failure is a rejection."""
MAX_ANSWER_BYTES = 4 * 2**20
TEMPLATES = {Domain.GAMES: "judge_games", Domain.TOOLS: "judge_tools"}
"""Files `templates/NAME.txt` of what is asked; what each must demand stands beside it in `NAME.demands.txt`."""


async def check_judge(program: Program, judge: Judge | None) -> Verdict | None:
    """None only if the judge says yes. Any failure, its absence included, is a rejection."""
    if judge is None:
        return _unavailable(program, "no judge is configured")
    try:
        async with asyncio.timeout(program.settings.judge.timeout_seconds):
            answer = await judge(prompt_for(program.source, program.domain))
    except Exception as error:  # whatever fails in a model's service must not let a program in
        return _unavailable(program, f"the judge failed: {type(error).__name__}: {error}"[:500])
    said = word_of(answer, program.source)
    program.facts["judge"] = said or "nothing that can be read"
    match said:
        case "yes":
            return None
        case "no":
            return program.rejection(STAGE, Reason.JUDGE_REJECTED, f"the judge says no: {answer.strip()[-1000:]}")
        case _:
            return _unavailable(program, f"the judge's answer holds no verdict: {answer.strip()[-500:]!r}")


def _unavailable(program: Program, message: str) -> Verdict:
    return program.rejection(STAGE, Reason.JUDGE_UNAVAILABLE, message)


def prompt_for(source: str, domain: Domain) -> str:
    """What the judge is asked."""
    return Template(template_of(domain)).substitute(mark=mark_of(source), program=source)


@cache
def template_of(domain: Domain) -> str:
    """The words that a domain's judge is asked in, with placeholders for mark and program."""
    file = resources.files("spade_sandbox.verify") / "templates" / f"{TEMPLATES[domain]}.txt"
    return file.read_text(encoding="utf-8")


def word_of(answer: str, source: str) -> str:
    """The word of the verdict's line, lower case; nothing if there is none, or lines contradict each other."""
    line = re.compile(rf"^\W*VERDICT\s+{mark_of(source)}\s*:\W*(\w+)\W*$", re.IGNORECASE | re.MULTILINE)
    words = {word.lower() for word in line.findall(answer.rpartition("</think>")[2])}
    return words.pop() if len(words) == 1 else ""


def mark_of(source: str) -> str:
    """Twelve hexadecimal digits that depend on every character of the program."""
    return hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()[:12]


@contextlib.asynccontextmanager
async def judge_of(settings: VerificationSettings, api_key: str | None = None) -> AsyncIterator[Judge | None]:
    """The judge that these settings ask for; None where its stage is off, or no endpoint is named.

    Raises InvalidInput for a judge that only a run has: its policy (trainer/spade_trainer/design/self_judge.py).
    """
    wanted = OptionalStage.JUDGE in settings.stages
    if wanted and settings.judge.source is JudgeSource.POLICY:
        raise InvalidInput(
            "verification.judge.source",
            "there is no policy here",
            remedy="Write source: Endpoint, and the judge's url.",
        )
    if not wanted or not settings.judge.url:
        yield None
        return
    async with judge_at(settings.judge, api_key) as judge:
        yield judge


@contextlib.asynccontextmanager
async def judge_at(settings: JudgeSettings, api_key: str | None = None) -> AsyncIterator[Judge]:
    """A judge at an OpenAI-compatible endpoint; `settings.url` is its base, such as `http://host:8000/v1`.

    It lies outside as often as not, so the environment's proxies count (HTTPS_PROXY, NO_PROXY).
    """
    import aiohttp

    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    timeout = aiohttp.ClientTimeout(total=settings.timeout_seconds)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout, trust_env=True) as http:

        async def ask(prompt: str) -> str:
            body = {
                "model": settings.model,
                "messages": [{"role": "user", "content": prompt}],
                "max_tokens": settings.max_tokens,
                "temperature": settings.temperature,
                "top_p": settings.top_p,
            }
            async with http.post(f"{settings.url.rstrip('/')}/chat/completions", json=body) as response:
                text = await _bounded_text(response)
                if response.status != 200:
                    raise InfrastructureFault(f"the judge at {settings.url} answers {response.status}: {text[:200]}")
                return _content(text)

        yield ask


async def _bounded_text(response: "aiohttp.ClientResponse") -> str:
    gathered = bytearray()
    async for chunk in response.content.iter_any():
        gathered += chunk
        if len(gathered) > MAX_ANSWER_BYTES:
            raise InfrastructureFault(f"the judge's answer has more than {MAX_ANSWER_BYTES} bytes")
    return gathered.decode("utf-8", "replace")


def _content(text: str) -> str:
    """The message of a chat completion that ended by itself."""
    try:
        choice = json.loads(text)["choices"][0]
        content, reason = choice["message"]["content"], choice.get("finish_reason")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise InfrastructureFault(f"the judge's answer is no chat completion: {text[:200]!r}") from error
    if type(content) is not str or reason == "length":
        raise InfrastructureFault("the judge's answer was cut, or holds no text")
    return content
