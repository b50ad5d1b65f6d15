"""The learner's side of an engine's control and status ports."""

from dataclasses import dataclass
from typing import TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError

from spade_contracts import ports
from spade_contracts.engine_api import (
    AdmitRequest,
    CanaryReport,
    CanaryRequest,
    EngineErrorBody,
    LoadReport,
    LoadRequest,
    ScoreRequest,
    ScoreResponse,
    SleepReport,
)
from spade_contracts.errors import InfrastructureFault
from spade_contracts.statuses import EngineStatus

M = TypeVar("M", bound=BaseModel)
MAX_ANSWER_BYTES = 1 << 20


class EngineFault(InfrastructureFault):
    """An engine did not answer, or refused; `code` is its EngineErrorBody.error, or `unreachable`."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True)
class Deadlines:
    """Seconds that one call may take."""

    status_seconds: float = 5.0
    load_seconds: float = 900.0
    """A load waits for the generations in flight, then reads the whole policy."""
    score_seconds: float = 120.0


@dataclass(frozen=True)
class EngineClient:
    """One engine. Every method raises EngineFault if the engine does not do what it was asked."""

    session: aiohttp.ClientSession
    host: str
    token: str
    deadlines: Deadlines = Deadlines()
    control_port: int = ports.ENGINE_CONTROL
    status_port: int = ports.ENGINE_STATUS

    async def status(self) -> EngineStatus:
        """Its open status."""
        url = f"http://{self.host}:{self.status_port}/status"
        return await self._answer("GET", url, None, EngineStatus, self.deadlines.status_seconds)

    async def load(self, policy_version: int, uri: str) -> LoadReport:
        """Have it take a policy's files."""
        body = LoadRequest(policy_version=policy_version, uri=uri)
        return await self._control("/load", body, LoadReport, self.deadlines.load_seconds)

    async def score(self, token_ids: tuple[int, ...]) -> ScoreResponse:
        """Its log-probabilities of given tokens."""
        return await self._control(
            "/score", ScoreRequest(token_ids=token_ids), ScoreResponse, self.deadlines.score_seconds
        )

    async def canary(self, factor: float) -> CanaryReport:
        """Have it scale the canary tensor, or restore it with factor 1."""
        return await self._control("/canary", CanaryRequest(factor=factor), CanaryReport, self.deadlines.score_seconds)

    async def admit(self, boot_id: str, policy_version: int) -> EngineStatus:
        """Let it serve a proven policy; the caller vouches for the canary at this boot."""
        body = AdmitRequest(boot_id=boot_id, policy_version=policy_version, canary_passed=True)
        return await self._control("/admit", body, EngineStatus, self.deadlines.score_seconds)

    async def sleep(self) -> SleepReport:
        """Have it give its devices to the learner."""
        return await self._control("/sleep", None, SleepReport, self.deadlines.load_seconds)

    async def wake(self) -> SleepReport:
        """Have it take its devices back."""
        return await self._control("/wake", None, SleepReport, self.deadlines.load_seconds)

    async def _control(self, path: str, body: BaseModel | None, model: type[M], seconds: float) -> M:
        return await self._answer("POST", f"http://{self.host}:{self.control_port}{path}", body, model, seconds)

    async def _answer(self, method: str, url: str, body: BaseModel | None, model: type[M], seconds: float) -> M:
        headers = {"Authorization": f"Bearer {self.token}"} if method == "POST" else {}
        headers |= {"Content-Type": "application/json"} if body else {}
        data = body.model_dump_json() if body else None
        try:
            async with self.session.request(
                method, url, data=data, headers=headers, allow_redirects=False, timeout=aiohttp.ClientTimeout(seconds)
            ) as answer:
                text = (await answer.content.read(MAX_ANSWER_BYTES)).decode("utf-8", "replace")
                status = answer.status
        except TimeoutError as error:
            raise EngineFault("unreachable", f"{url} did not answer within {seconds:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise EngineFault("unreachable", f"{url} did not answer: {error}") from error
        try:
            if status == 200:
                return model.model_validate_json(text)
            refusal = EngineErrorBody.model_validate_json(text)
        except ValidationError as error:
            raise EngineFault("unreadable", f"{url} answered {status} with {text[:200]!r}") from error
        raise EngineFault(refusal.error, f"{url} refused ({refusal.error}): {refusal.message}")
