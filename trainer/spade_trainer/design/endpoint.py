"""A client of OpenAI-compatible endpoints: the designer, or the writer of hints, may be a model behind one.

Whatever comes from an endpoint is data to be checked. A request that fails by a limit, by the server or on the way is
tried again, after what `Retry-After` asks for or a growing pause; one that the endpoint will never serve is the user's
to mend. An answer that is well formed is the model's word, also when it is empty or cut: the gate judges it.
"""

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from spade_contracts.config.environments import EndpointConfig
from spade_contracts.config.sampling import SamplingConfig
from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_trainer.design.prompt import ChatMessage
from spade_trainer.store.designs import Usage

if TYPE_CHECKING:
    import aiohttp

MAX_ANSWER_BYTES = 4 * 2**20
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 120.0
"""A `Retry-After` beyond it is cut to it: the next try then finds out."""
RETRIED = frozenset({408, 409, 425, 429})
"""Client errors that pass by themselves; so do all server errors."""
MAX_TOKENS = 2**31 - 1
OLD_BOUND, NEW_BOUND = "max_tokens", "max_completion_tokens"
"""Names of the field that bounds an answer. All servers know the old one, but some models refuse it."""


class RequestResult(StrEnum):
    """What became of one request."""

    ANSWERED = "answered"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    """No connection, or one that ended in the middle of an answer."""
    UNREADABLE = "unreadable"
    """An answer that is no chat completion."""
    REFUSED = "refused"
    """The endpoint will never serve it: key, model or request are wrong."""
    OTHER_BOUND = "other_bound"
    """It takes the bound of tokens by its newer name only; it is asked so from then on."""


class EndpointUnavailable(InfrastructureFault):
    """An endpoint did not answer within its tries. Temporary: the Job's next try designs what is missing."""


class EndpointRefused(InvalidInput):
    """An endpoint says that a request can never be served, such as for a wrong key or model."""


@dataclass(frozen=True)
class Completion:
    """An endpoint's answer. `cut`: whether it ended at its bound of tokens."""

    text: str
    cut: bool
    usage: Usage


Ask = Callable[[Sequence[ChatMessage], SamplingConfig], Awaitable[Completion]]
"""Messages and sampling → the model's answer. Raises EndpointUnavailable and EndpointRefused."""
Observe = Callable[[RequestResult], None]
Sleep = Callable[[float], Awaitable[None]]


@contextlib.asynccontextmanager
async def endpoint_at(
    settings: EndpointConfig,
    api_key: str | None,
    *,
    where: str,
    observe: Observe = lambda result: None,
    sleep: Sleep = asyncio.sleep,
) -> AsyncIterator[Ask]:
    """The model at an endpoint; `where` is the field of the settings, for messages.

    A server that refuses the bound of tokens by its old name is asked with the new one from then on.
    It lies outside as often as not, so the environment's proxies count (HTTPS_PROXY, NO_PROXY).
    """
    import aiohttp

    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    timeout = aiohttp.ClientTimeout(total=settings.timeout_seconds)
    admit = paced(settings.requests_per_minute, sleep)
    bound = OLD_BOUND
    async with aiohttp.ClientSession(headers=headers, timeout=timeout, trust_env=True) as http:

        async def ask(messages: Sequence[ChatMessage], sampling: SamplingConfig) -> Completion:
            nonlocal bound
            problem, asked, attempt = "", 0, 0
            while attempt < settings.attempts:
                await admit()
                asked += 1
                try:
                    answer = await _request(http, settings, messages, sampling, bound)
                except _Failed as error:
                    observe(error.result)
                    if error.result is RequestResult.OTHER_BOUND:
                        bound = NEW_BOUND
                        continue
                    problem = f"{error.result}: {error}"
                    if error.result is RequestResult.REFUSED:
                        raise EndpointRefused(where, f"{settings.url} refuses the request: {error}") from error
                    attempt += 1
                    if attempt < settings.attempts:
                        await sleep(pause_seconds(attempt - 1, error.retry_after))
                    continue
                observe(RequestResult.ANSWERED)
                return _completion(answer, settings, requests=asked)
            raise EndpointUnavailable(
                f"{where}: {settings.url} gave no answer in {settings.attempts} tries; the last: {problem}",
                remedy="Is it up, and are its address and rate within egress.cidrs and requestsPerMinute?",
            )

        yield ask


def paced(per_minute: int, sleep: Sleep) -> Callable[[], Awaitable[None]]:
    """A turnstile that lets so many through in a minute, evenly, in the order of their coming."""
    free_at = -math.inf

    async def admit() -> None:
        nonlocal free_at
        now = asyncio.get_running_loop().time()
        wait = max(0.0, free_at - now)
        free_at = max(free_at, now) + 60.0 / per_minute
        if wait > 0:
            await sleep(wait)

    return admit


def pause_seconds(attempt: int, retry_after: float | None) -> float:
    """How long to wait after a failed try: what the server asks for, or twice as long each time; bounded."""
    wanted = FIRST_PAUSE_SECONDS * 2.0 ** min(attempt, 16) if retry_after is None else retry_after
    return min(max(wanted, 0.0), LONGEST_PAUSE_SECONDS)


class _Failed(Exception):
    """One request failed."""

    def __init__(self, result: RequestResult, message: str, retry_after: float | None = None) -> None:
        self.result = result
        self.retry_after = retry_after
        super().__init__(message)


async def _request(
    http: "aiohttp.ClientSession",
    settings: EndpointConfig,
    messages: Sequence[ChatMessage],
    sampling: SamplingConfig,
    bound: str,
) -> dict[str, Any]:
    """One request; raises _Failed. Only fields that every such server knows are sent."""
    import aiohttp

    body = {
        "model": settings.model,
        "messages": list(messages),
        bound: sampling.max_new_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
    }
    try:
        async with http.post(f"{settings.url.rstrip('/')}/chat/completions", json=body) as response:
            text = await _bounded_text(response)
            status, retry_after = response.status, _seconds(response.headers.get("Retry-After"))
    except TimeoutError as error:
        raise _Failed(RequestResult.TIMEOUT, f"no answer within {settings.timeout_seconds:g} s") from error
    except (aiohttp.ClientError, OSError) as error:
        raise _Failed(RequestResult.UNREACHABLE, type(error).__name__) from error
    if status == 200:
        return _parsed(text)
    message = f"status {status}: {text[:200]!r}"
    if status == 429:
        raise _Failed(RequestResult.RATE_LIMITED, message, retry_after)
    if status >= 500 or status in RETRIED:
        raise _Failed(RequestResult.SERVER_ERROR, message, retry_after)
    other = bound == OLD_BOUND and status == 400 and _wants_new_bound(text)
    raise _Failed(RequestResult.OTHER_BOUND if other else RequestResult.REFUSED, message)


def _wants_new_bound(text: str) -> bool:
    """Whether a refusal is about the bound of tokens: it names the new field, or the old one as unsupported."""
    try:
        error = json.loads(text)["error"]
        told = (error.get("param"), error.get("code"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        told = (None, None)
    return told == (OLD_BOUND, "unsupported_parameter") or NEW_BOUND in text


async def _bounded_text(response: "aiohttp.ClientResponse") -> str:
    gathered = bytearray()
    async for chunk in response.content.iter_any():
        gathered += chunk
        if len(gathered) > MAX_ANSWER_BYTES:
            raise _Failed(RequestResult.UNREADABLE, f"the answer has more than {MAX_ANSWER_BYTES} bytes")
    return gathered.decode("utf-8", "replace")


def _seconds(header: str | None) -> float | None:
    """Retry-After in seconds; a date, or what is no number, counts as not given."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _parsed(text: str) -> dict[str, Any]:
    """A chat completion: an object whose first choice has a message. Its content may be null."""
    try:
        answer = json.loads(text)
        content = answer["choices"][0]["message"].get("content")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise _Failed(RequestResult.UNREADABLE, f"no chat completion: {text[:200]!r}") from error
    if content is not None and not isinstance(content, str):
        raise _Failed(RequestResult.UNREADABLE, "the message is no text")
    return dict(answer)


def _completion(answer: dict[str, Any], settings: EndpointConfig, requests: int) -> Completion:
    choice = answer["choices"][0]
    told = answer.get("usage")
    usage = told if isinstance(told, dict) else {}
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cost = (prompt * settings.prompt_price + completion * settings.completion_price) / 1e6
    text = (choice["message"].get("content") or "").encode("utf-8", "replace").decode()
    return Completion(text, choice.get("finish_reason") == "length", Usage(requests, prompt, completion, cost))


def _count(value: object) -> int:
    """A number of tokens as an endpoint tells it; anything else counts as not told."""
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else 0
