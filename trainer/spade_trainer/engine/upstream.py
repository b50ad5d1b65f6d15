"""The client of vLLM's own server: the few calls an engine needs, each with a deadline and a checked answer.

Everything about vLLM's messages is in this file (field-rl.md D1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spade_contracts.engine_api import VersionSpan
from spade_trainer.engine.refusals import UpstreamFault

BASE = "http://vllm"
NO_NUMBER = -9999.0
"""vLLM writes this where a log-probability is NaN or minus infinity; a drawn token can have neither."""
ABORTED = "abort"
M = TypeVar("M", bound=BaseModel)


class _Read(BaseModel):
    """A part of an answer of vLLM; what is not named here is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _LogProb(_Read):
    logprob: float


class _LogProbs(_Read):
    content: tuple[_LogProb, ...]


class _Span(_Read):
    version: int
    start: int
    end: int


class _Choice(_Read):
    finish_reason: str
    token_ids: tuple[int, ...]
    logprobs: _LogProbs | None = None
    weight_versions: tuple[_Span, ...] | None = None


class _Generated(_Read):
    choices: tuple[_Choice, ...] = Field(min_length=1, max_length=1)
    prompt_logprobs: tuple[dict[int, _LogProb] | None, ...] | None = None


class _RpcResults(_Read):
    results: tuple[dict[str, Any], ...] = Field(min_length=1)


@dataclass(frozen=True)
class Sampling:
    """How to draw."""

    temperature: float
    top_p: float
    top_k: int
    seed: int
    max_new_tokens: int
    stop_token_ids: tuple[int, ...]


@dataclass(frozen=True)
class Generated:
    """Drawn tokens with their processed log-probabilities and the versions that computed them."""

    token_ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    finish_reason: str
    """`stop`, `length` or `abort`."""
    spans: tuple[VersionSpan, ...]


def connect(socket: Path) -> aiohttp.ClientSession:
    """A session to the server on a Unix socket; a connection of its own for each request.

    vLLM's server ends a connection that was idle for five seconds. A request that is written just then fails, and most
    of them may not be sent twice, so no connection is kept to be met in that state.
    """
    return aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket), limit=0, force_close=True))


async def healthy(session: aiohttp.ClientSession, *, seconds: float) -> bool:
    """Whether the server answers and its engine is alive."""
    try:
        async with session.get(f"{BASE}/health", timeout=aiohttp.ClientTimeout(seconds)) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


async def generate(
    session: aiohttp.ClientSession, token_ids: Sequence[int], sampling: Sampling, *, seconds: float
) -> Generated:
    """Draw tokens after the given ones. Raises UpstreamFault."""
    parameters = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "seed": sampling.seed,
        "max_tokens": sampling.max_new_tokens,
        # One rule ends a generation, that of the request; vLLM's own reading of the model's files is switched off.
        "stop_token_ids": list(sampling.stop_token_ids),
        "ignore_eos": True,
        "logprobs": 0,
        "detokenize": False,
    }
    answer = await _generate(session, token_ids, parameters, seconds)
    choice = answer.choices[0]
    log_probs = tuple(entry.logprob for entry in choice.logprobs.content) if choice.logprobs else ()
    spans = tuple(
        VersionSpan(policy_version=span.version, tokens=span.end - span.start) for span in choice.weight_versions or ()
    )
    whole = len(choice.token_ids) == len(log_probs) == sum(span.tokens for span in spans)
    if choice.finish_reason != ABORTED and (not whole or any(value <= NO_NUMBER for value in log_probs)):
        raise UpstreamFault("vLLM's tokens, log-probabilities and version spans do not fit together")
    return Generated(choice.token_ids, log_probs, choice.finish_reason, spans)


async def score(session: aiohttp.ClientSession, token_ids: Sequence[int], *, seconds: float) -> tuple[float, ...]:
    """Log-probability of each token but the first, given those before it, at temperature 1. Raises UpstreamFault.

    Prompt log-probabilities are never processed, and asking for them bypasses the prefix cache.
    """
    parameters = {"max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0, "ignore_eos": True, "detokenize": False}
    answer = await _generate(session, token_ids, parameters, seconds)
    entries = answer.prompt_logprobs or ()
    if len(entries) != len(token_ids):
        raise UpstreamFault(f"vLLM scored {len(entries)} of {len(token_ids)} tokens")
    found = [entry.get(token) if entry else None for entry, token in zip(entries, token_ids, strict=True)][1:]
    values = tuple(entry.logprob for entry in found if entry is not None)
    if len(values) != len(found) or any(value <= NO_NUMBER for value in values):
        raise UpstreamFault("vLLM's scores lack tokens or hold no numbers")
    return values


async def pause(session: aiohttp.ClientSession, *, seconds: float) -> None:
    """Abort what is being computed and compute nothing until `resume`. Raises UpstreamFault."""
    await _post(session, "/pause", {"mode": "abort"}, {}, seconds)


async def resume(session: aiohttp.ClientSession, *, seconds: float) -> None:
    """Compute again. Raises UpstreamFault."""
    await _post(session, "/resume", {}, {}, seconds)


async def sleep(session: aiohttp.ClientSession, *, seconds: float) -> None:
    """Abort what is being computed, move the weights to the host, give keys and values up. Raises UpstreamFault.

    Level 1 keeps the weights, so that a load after waking finds every tensor whole. The CPU build moves nothing and
    only stops computing.
    """
    await _post(session, "/sleep", {"level": "1", "mode": "abort"}, {}, seconds)


async def wake(session: aiohttp.ClientSession, *, seconds: float) -> None:
    """Take the memory back and compute again. Raises UpstreamFault if it could not."""
    answer = await _post(session, "/wake_up", {}, {}, seconds)
    if not (isinstance(answer, dict) and answer.get("status") == "awake"):
        raise UpstreamFault(f"vLLM did not wake up: {answer}")


async def reset_prefix_cache(session: aiohttp.ClientSession, *, seconds: float) -> bool:
    """Forget cached keys and values; False if some were still held. Raises UpstreamFault."""
    answer = await _post(session, "/reset_prefix_cache", {}, {}, seconds)
    return isinstance(answer, dict) and answer.get("success") is True


async def label(session: aiohttp.ClientSession, version: int, *, seconds: float) -> None:
    """Name the version that spans report from now on. It moves no weights. Raises UpstreamFault."""
    await _post(session, "/update_weight_version", {}, {"new_version": str(version)}, seconds)


async def call_worker(
    session: aiohttp.ClientSession, method: str, arguments: Mapping[str, Any], *, seconds: float
) -> tuple[dict[str, Any], ...]:
    """Call a method of the worker extension in every worker; their answers, in rank order. Raises UpstreamFault."""
    body = {"method": method, "kwargs": dict(arguments), "timeout": seconds}
    answer = await _post(session, "/collective_rpc", {}, body, seconds)
    return _checked(_RpcResults, answer).results


async def metrics(session: aiohttp.ClientSession, *, seconds: float) -> str:
    """vLLM's metrics as text; empty if it does not answer in time."""
    try:
        async with session.get(f"{BASE}/metrics", timeout=aiohttp.ClientTimeout(seconds)) as answer:
            return await answer.text() if answer.status == 200 else ""
    except (aiohttp.ClientError, TimeoutError, OSError):
        return ""


async def _generate(
    session: aiohttp.ClientSession, token_ids: Sequence[int], parameters: dict[str, Any], seconds: float
) -> _Generated:
    body = {"token_ids": list(token_ids), "sampling_params": parameters}
    return _checked(_Generated, await _post(session, "/inference/v1/generate", {}, body, seconds))


async def _post(
    session: aiohttp.ClientSession, path: str, query: dict[str, str], body: dict[str, Any], seconds: float
) -> Any:
    try:
        async with session.post(
            f"{BASE}{path}", params=query, json=body, timeout=aiohttp.ClientTimeout(seconds)
        ) as answer:
            if answer.status != 200:
                raise UpstreamFault(f"vLLM answered {path} with {answer.status}: {(await answer.text())[:300]}")
            return await answer.json()
    except TimeoutError as error:
        raise UpstreamFault(f"vLLM did not answer {path} within {seconds:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise UpstreamFault(f"vLLM did not answer {path}: {error}") from error


def _checked(model: type[M], answer: Any) -> M:
    try:
        return model.model_validate(answer)
    except ValidationError as error:
        first = error.errors()[0]
        raise UpstreamFault(f"vLLM's answer is not understood: {first['loc']}: {first['msg']}") from error
