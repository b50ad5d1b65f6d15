"""Client of the engines' data ports: one request goes to the least busy engine, and again elsewhere until it is done.

A request names its seed and policy version, so that sending it again is harmless. Engines come and go: their name is
resolved again and again, and an engine that fails is left alone for a moment.
"""

import asyncio
import math
import socket
from dataclasses import dataclass, field
from types import TracebackType

import aiohttp
from pydantic import ValidationError

from spade_contracts.engine_api import EngineErrorBody, GenerateRequest, GenerateResponse
from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_contracts.ports import ENGINE_DATA, authority
from spade_trainer.play.tokens import SpeltRequest

RESOLVE_SECONDS = 2.0
REST_SECONDS = 1.0
"""How long an engine that failed a request gets none."""
CONNECT_SECONDS = 5.0
MAX_CONNECTIONS = 512

Address = tuple[str, int]


class EngineUnavailable(InfrastructureFault):
    """No engine answered a request within the patience given. Temporary: the episode is played again."""


class EngineRefused(InvalidInput):
    """An engine says that a request can never be served: a wrong token, or a sequence that is too long."""


@dataclass
class EngineFigures:
    """Changing counts of one client."""

    generated_tokens: int = 0
    retries: int = 0
    in_flight: int = 0


@dataclass(eq=False)
class _Engine:
    """One address."""

    address: Address
    in_flight: int = 0
    resting_until: float = 0.0


@dataclass
class EnginePool:
    """Engines behind a name. Use as an async context manager, in one event loop."""

    targets: str
    """`host` or `host:port`, several separated by commas; a name stands for all its A records."""
    token: str
    patience_seconds: float = 600.0
    """How long one request is tried, over all engines."""
    figures: EngineFigures = field(default_factory=EngineFigures)
    _engines: dict[Address, _Engine] = field(default_factory=dict, init=False)
    _resolved_at: float = field(default=float("-inf"), init=False)
    _resolving: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _http: aiohttp.ClientSession | None = field(default=None, init=False)

    async def __aenter__(self) -> "EnginePool":
        self._http = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self.token}"},
            connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS, use_dns_cache=False),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.close()

    async def generate(self, request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        """The tokens drawn for a request. timeout_seconds: deadline of the first try; a try that ran into it doubles
        the next one's, because a busy engine would only be asked for the same work again.

        Raises EngineRefused for what no engine will ever do, and EngineUnavailable after `patience_seconds`.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.patience_seconds
        body = request_body(request)
        problem = f"{self.targets} resolves to no engine"
        self.figures.in_flight += 1
        try:
            while loop.time() < deadline:
                engine = await self._least_busy()
                if engine is None:
                    await asyncio.sleep(REST_SECONDS / 4)
                    continue
                engine.in_flight += 1
                try:
                    answer = await self._ask(engine, body, request, min(timeout_seconds, deadline - loop.time()))
                except _Later as error:
                    problem = str(error)
                    timeout_seconds *= 2 if isinstance(error.__cause__, TimeoutError) else 1
                    self.figures.retries += 1
                    engine.resting_until = loop.time() + REST_SECONDS
                    continue
                finally:
                    engine.in_flight -= 1
                self.figures.generated_tokens += len(answer.token_ids)
                return answer
        finally:
            self.figures.in_flight -= 1
        raise EngineUnavailable(
            f"no engine drew policy {request.policy_version} within {self.patience_seconds:.0f} s; last: {problem}"
        )

    async def _ask(
        self, engine: _Engine, body: bytes, request: GenerateRequest, timeout_seconds: float
    ) -> GenerateResponse:
        """One try at one engine; raises _Later if another try may do."""
        assert self._http is not None, "EnginePool is an async context manager"
        name = authority(*engine.address)
        timeout = aiohttp.ClientTimeout(total=max(0.1, timeout_seconds), connect=CONNECT_SECONDS)
        headers = {"Content-Type": "application/json"}
        try:
            async with self._http.post(f"http://{name}/generate", data=body, headers=headers, timeout=timeout) as reply:
                content = await reply.read()
                status = reply.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _Later(f"{name}: {type(error).__name__} {error}") from error
        if status != 200:
            raise _refusal(name, status, content)
        return checked_answer(name, content, request)

    async def _least_busy(self) -> _Engine | None:
        """The engine with the fewest requests of ours in flight, of those that are not resting."""
        loop = asyncio.get_running_loop()
        async with self._resolving:
            if loop.time() - self._resolved_at >= RESOLVE_SECONDS:
                await self._resolve()
                self._resolved_at = loop.time()
        ready = [engine for engine in self._engines.values() if engine.resting_until <= loop.time()]
        return min(ready, key=lambda engine: (engine.in_flight, engine.address), default=None)

    async def _resolve(self) -> None:
        """Learn the present addresses; a resolver that fails takes none away."""
        loop = asyncio.get_running_loop()
        found: set[Address] = set()
        try:
            for target in self.targets.split(","):
                host, _, port = target.strip().rpartition(":") if target.count(":") == 1 else (target.strip(), "", "")
                infos = await loop.getaddrinfo(host, int(port or ENGINE_DATA), type=socket.SOCK_STREAM)
                found |= {(str(info[4][0]), int(info[4][1])) for info in infos}
        except OSError:
            return
        for address in found - self._engines.keys():
            self._engines[address] = _Engine(address)
        for address in self._engines.keys() - found:
            del self._engines[address]


class _Later(Exception):
    """A try failed in a way that another try may not."""


PASSING = frozenset({"not_serving", "wrong_policy", "updating", "asleep", "failed"})
"""Refusals that end by themselves: the engine waits for the learner, or is replaced."""


def _refusal(name: str, status: int, content: bytes) -> Exception:
    """What a refusal means."""
    try:
        body = EngineErrorBody.model_validate_json(content)
    except ValidationError:
        return _Later(f"{name} answered status {status} without a reason")
    if body.error in PASSING:
        return _Later(f"{name}: {body.error}, {body.message}")
    return EngineRefused(name, f"{body.error}: {body.message}")


def request_body(request: GenerateRequest) -> bytes:
    """What is sent to an engine. A conversation brings its tokens spelt."""
    if not isinstance(request, SpeltRequest) or not request.token_json:
        return request.model_dump_json().encode()
    others = request.model_dump_json(exclude={"token_ids"}).encode()
    return b"".join((b'{"token_ids":[', *request.token_json, b"],", others[1:]))


def checked_answer(name: str, content: bytes, request: GenerateRequest) -> GenerateResponse:
    """The answer of the engine of this name, if it is whole and of the policy asked for."""
    try:
        answer = GenerateResponse.model_validate_json(content)
    except ValidationError as error:
        raise _Later(f"{name} answered something that is no generation: {error.errors()[0]['msg']}") from error
    count = len(answer.token_ids)
    if len(answer.log_probs) != count or sum(span.tokens for span in answer.spans) != count or not count:
        raise _Later(f"{name} answered {count} tokens with other counts of log-probabilities or span tokens")
    # `max` may pass over a NaN, the sum never does; both are one call over some thousand values.
    if count > request.max_new_tokens or max(answer.log_probs) > 1e-3 or math.isnan(sum(answer.log_probs)):
        raise _Later(f"{name} answered more tokens than asked for, or log-probabilities that are none")
    if {span.policy_version for span in answer.spans} != {request.policy_version}:
        raise _Later(f"{name} drew with another policy than {request.policy_version}")
    return answer
