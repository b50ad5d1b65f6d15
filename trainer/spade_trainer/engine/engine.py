"""An engine's operations: generation for workers, weights for the learner. Order and locks live here, HTTP does not.

Whatever touches weights first closes the gate to workers, lets their requests end, and leaves the engine unproven.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import aiohttp

from spade_contracts.engine_api import (
    AdmitRequest,
    CanaryReport,
    CanaryRequest,
    FinishReason,
    GenerateRequest,
    GenerateResponse,
    LoadReport,
    LoadRequest,
    ScoreRequest,
    ScoreResponse,
    SleepReport,
)
from spade_contracts.errors import SpadeError
from spade_contracts.statuses import EngineState, EngineStatus
from spade_trainer.engine import life as lives
from spade_trainer.engine import upstream
from spade_trainer.engine.checks import Limits, check_generate, check_tokens
from spade_trainer.engine.policies import find_policy
from spade_trainer.engine.refusals import Code, Refused, UpstreamFault
from spade_trainer.store.objects import Store


class Sleep(StrEnum):
    """What an engine can do for a learner on the same devices."""

    NONE = "none"
    """It shares with nobody, so nobody may stop it."""
    PAUSES = "pauses"
    """It stops computing; vLLM's CPU build gives no memory back."""
    FREES = "frees"
    """It stops computing and gives its device memory back."""


@dataclass(frozen=True)
class Deadlines:
    """Upper bounds of what an engine waits for, in seconds."""

    generate_seconds: float = 900.0
    load_seconds: float = 900.0
    score_seconds: float = 300.0
    call_seconds: float = 60.0
    """Pause, resume, label, cache and canary."""
    drain_seconds: float = 60.0
    """How long workers' requests may go on once new weights are announced; then they are aborted."""


class Engine:
    """One boot of one engine. All methods but `status` may raise Refused."""

    def __init__(
        self,
        *,
        boot_id: str,
        session: aiohttp.ClientSession,
        store: Store,
        limits: Limits,
        deadlines: Deadlines,
        on_change: Callable[[lives.Life], None] = lambda life: None,
        sleep: Sleep = Sleep.NONE,
    ) -> None:
        self.boot_id = boot_id
        self.limits = limits
        self._session = session
        self._store = store
        self._deadlines = deadlines
        self._on_change = on_change
        self._sleep = sleep
        self._life = lives.Life()
        self._control = asyncio.Lock()
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._generated_tokens = 0

    @property
    def life(self) -> lives.Life:
        """What is loaded and proven now."""
        return self._life

    def status(self) -> EngineStatus:
        """The open status."""
        life = self._life
        return EngineStatus(
            boot_id=self.boot_id,
            state=life.state,
            loaded_policy_version=life.loaded,
            verified_policy_version=life.verified,
            canary_passed=life.canary_passed,
            requests_in_flight=self._in_flight,
            generated_tokens=self._generated_tokens,
            error=life.error,
        )

    async def booted(self, version: int) -> None:
        """vLLM answers and has read this version from its files; it is unproven. Raises UpstreamFault."""
        await upstream.label(self._session, version, seconds=self._deadlines.call_seconds)
        self._become(lives.booted(self._life, version))

    def close(self, reason: str) -> None:
        """Serve nothing more; the process is about to end."""
        self._become(lives.failed(self._life, reason))

    async def generate(self, request: GenerateRequest) -> GenerateResponse:
        """Draw tokens from the proven policy that the request names."""
        lives.check_serving(self._life, request.policy_version)
        room = check_generate(request, self.limits)
        sampling = upstream.Sampling(
            temperature=request.temperature,
            top_p=request.top_p,
            top_k=request.top_k,
            # Seeds may use 64 bits; vLLM's are signed, and -1 would mean none.
            seed=request.seed % 2**63,
            max_new_tokens=min(request.max_new_tokens, room),
            stop_token_ids=self.limits.stop_token_ids,
        )
        seconds = self._deadlines.generate_seconds
        async with self._counted():
            drawn = await self._ask(upstream.generate(self._session, request.token_ids, sampling, seconds=seconds))
        if drawn.finish_reason == upstream.ABORTED:
            raise Refused(Code.UPDATING, "weights were replaced before the generation ended; ask again")
        self._generated_tokens += len(drawn.token_ids)
        return GenerateResponse(
            token_ids=drawn.token_ids,
            log_probs=drawn.log_probs,
            finish_reason=FinishReason(drawn.finish_reason),
            spans=drawn.spans,
            boot_id=self.boot_id,
        )

    async def load(self, request: LoadRequest) -> LoadReport:
        """Take a policy's files; the engine is unproven afterwards, and serves nothing if anything went wrong.

        The report tells truly what was handed over: tensors that are not those of policy.json can be scored, so that
        the learner sees what it is dealing with, and never admitted.
        """
        began = time.monotonic()
        folder, manifest = await asyncio.to_thread(find_policy, self._store, request)
        seconds = self._deadlines.load_seconds
        async with self._touching_weights(lives.check_started):
            arguments = {"folder": str(folder)}
            answers = await upstream.call_worker(self._session, "spade_load_policy", arguments, seconds=seconds)
            digest = _same_digest(answers)
            await upstream.label(self._session, request.policy_version, seconds=self._deadlines.call_seconds)
            genuine = digest == (manifest.tensors_sha256, manifest.tensors)
            after = lives.loaded(self._life, request.policy_version, genuine=genuine)
            await self._forget_and_resume()
            self._become(after)
        return LoadReport(
            boot_id=self.boot_id,
            policy_version=request.policy_version,
            tensors_sha256=digest[0],
            tensors=digest[1],
            seconds=time.monotonic() - began,
        )

    async def canary(self, request: CanaryRequest) -> CanaryReport:
        """Scale the canary tensor, or restore it; the engine is unproven afterwards."""
        seconds = self._deadlines.call_seconds
        async with self._touching_weights(lives.check_control):
            arguments = {"factor": request.factor}
            answers = await upstream.call_worker(self._session, "spade_scale_norm", arguments, seconds=seconds)
            after = lives.scaled(self._life, request.factor)
            await self._forget_and_resume()
            self._become(after)
        first = answers[0]
        return CanaryReport(boot_id=self.boot_id, tensor=str(first["tensor"]), sum=float(first["sum"]))

    async def sleep(self) -> SleepReport:
        """Compute nothing and give the devices to the learner, until `wake`. Asked again, it sleeps on.

        Raises Refused while vLLM is starting, and if the engine shares its devices with nobody.
        """
        if self._sleep is Sleep.NONE:
            raise Refused(Code.BAD_REQUEST, "this engine has its devices for itself and does not sleep")
        async with self._control:
            if self._life.state is not EngineState.ASLEEP:
                lives.check_started(self._life)
                self._become(lives.asleep(self._life))
                await self._drained()
                await self._moving(upstream.sleep(self._session, seconds=self._deadlines.load_seconds))
        return self._sleep_report()

    async def wake(self) -> SleepReport:
        """Take the devices back; the engine is unproven afterwards. One that is awake stays as it is."""
        async with self._control:
            if self._life.state is EngineState.ASLEEP:
                await self._moving(upstream.wake(self._session, seconds=self._deadlines.load_seconds))
                self._become(lives.awake(self._life))
        return self._sleep_report()

    async def _moving(self, call: Awaitable[None]) -> None:
        """Await a move of the weights; one that goes wrong leaves the engine failed."""
        try:
            await call
        except UpstreamFault as error:
            self._become(lives.failed(self._life, str(error)))
            raise Refused(Code.FAILED, str(error)) from error

    def _sleep_report(self) -> SleepReport:
        asleep = self._life.state is EngineState.ASLEEP
        return SleepReport(boot_id=self.boot_id, asleep=asleep, frees_memory=self._sleep is Sleep.FREES)

    async def _drained(self) -> None:
        """Until workers' requests have ended, or the deadline: what is left is aborted by what comes next."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._deadlines.drain_seconds):
                await self._idle.wait()

    async def score(self, request: ScoreRequest) -> ScoreResponse:
        """Log-probabilities of given tokens by whatever is loaded, proven or not."""
        check_tokens(request.token_ids, self.limits)
        if len(request.token_ids) >= self.limits.max_tokens:
            raise Refused(Code.TOO_LONG, f"{len(request.token_ids)} tokens; at most {self.limits.max_tokens - 1} fit")
        async with self._control:
            lives.check_control(self._life)
            loaded = self._life.loaded
            assert loaded is not None
            found = await self._ask(
                upstream.score(self._session, request.token_ids, seconds=self._deadlines.score_seconds)
            )
        return ScoreResponse(boot_id=self.boot_id, loaded_policy_version=loaded, log_probs=found)

    async def admit(self, request: AdmitRequest) -> EngineStatus:
        """Serve what is loaded, if the verdict is about exactly that."""
        async with self._control:
            self._become(lives.admitted(self._life, self.boot_id, request))
        return self.status()

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self._in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    @asynccontextmanager
    async def _touching_weights(self, check: Callable[[lives.Life], None]) -> AsyncIterator[None]:
        """Alone, with the gate closed and nothing computed; whatever goes wrong inside leaves the engine failed.

        check raises Refused, before anything changes, if the engine's state forbids the operation.
        """
        async with self._control:
            check(self._life)
            self._become(lives.updating(self._life))
            await self._drained()
            try:
                await upstream.pause(self._session, seconds=self._deadlines.call_seconds)
                yield
            except (SpadeError, KeyError, ValueError) as error:
                self._become(lives.failed(self._life, str(error)))
                raise Refused(Code.FAILED, str(error)) from error
            except BaseException:
                self._become(lives.failed(self._life, "the update was cut off"))
                raise

    async def _forget_and_resume(self) -> None:
        """Drop keys and values of the old weights, then compute again."""
        seconds = self._deadlines.call_seconds
        if not await upstream.reset_prefix_cache(self._session, seconds=seconds):
            raise UpstreamFault("vLLM still holds cached keys and values of the old weights")
        await upstream.resume(self._session, seconds=seconds)

    async def _ask(self, call: Any) -> Any:
        try:
            return await call
        except UpstreamFault as error:
            raise Refused(Code.FAILED, str(error), verified=self._life.verified) from error

    def _become(self, life: lives.Life) -> None:
        self._life = life
        self._on_change(life)


def _same_digest(answers: tuple[dict[str, Any], ...]) -> tuple[str, int]:
    """Digest and count that all workers report. Raises UpstreamFault if one refuses or they disagree."""
    for answer in answers:
        if "refused" in answer:
            raise UpstreamFault(str(answer["refused"]))
    digests = {(str(answer["sha256"]), int(answer["tensors"])) for answer in answers}
    if len(digests) != 1:
        raise UpstreamFault(f"the engine's workers were handed different tensors: {sorted(digests)}")
    return digests.pop()
