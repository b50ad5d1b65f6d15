"""The pod's life: serve the status, start the zygote, try the walls, probe, serve sessions, drain, go.

The status port is up first and to the end, also when a wall is missing or the probe fails: then it says so, and every
`open` is refused. If the zygote or a task of the server breaks, the whole process ends with an error, and its restart
is a new pod with a new boot id that must prove itself again.
"""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from picows import WSCloseCode, ws_create_server
from pydantic import ValidationError
from websockets.asyncio.server import Server as StatusServer

from spade_contracts.errors import InvalidInput
from spade_contracts.isolation import PROBE_TARGETS, ProbeTarget
from spade_contracts.protocol import MAX_MESSAGE_BYTES
from spade_sandbox.pod.connection import Connection, Pod
from spade_sandbox.pod.forking import CellKind, Zygote, start_zygote
from spade_sandbox.pod.probe import run_probe
from spade_sandbox.pod.sessions import Sources
from spade_sandbox.pod.settings import Admit, Settings
from spade_sandbox.pod.spares import Spares
from spade_sandbox.pod.state import PodState
from spade_sandbox.pod.status_port import serve_status
from spade_sandbox.pod.supervisor import PodBroken
from spade_sandbox.pod.trials import try_all_walls, wall_names
from spade_sandbox.pod.watch import watch_cells
from spade_sandbox.pod.worker_socket import Socket

HANDSHAKE_SECONDS = 10.0
MAX_CONNECTIONS_BACKLOG = 64
CLOSE_SECONDS = 5.0
"""For saying goodbye to workers when the pod ends."""
log = logging.getLogger("spade.sandbox")


@dataclass(frozen=True)
class Serving:
    """A pod that listens."""

    session_port: int
    state: PodState


async def run_pod(settings: Settings, serving: Callable[[Serving], None] = lambda pod: None) -> None:
    """Run until drained (SIGTERM) or broken. Raises InvalidInput before anything starts, PodBroken later.

    `serving` is called once the pod listens; its walls may not have been tried then.
    """
    targets = _read_targets(settings)
    pod = Pod(PodState(settings.capacity, settings.admit), Sources(), _read_digest(settings))
    draining = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, draining.set)
    async with contextlib.AsyncExitStack() as stack:
        status = await serve_status(settings.host, settings.status_port, pod.state.status)
        stack.push_async_callback(_close, status)
        zygote = start_zygote(CellKind())
        stack.callback(zygote.close)
        sessions = await _serve_sessions(settings, pod)
        stack.push_async_callback(_close_sessions, sessions, pod)
        log.info("boot %s: sessions on port %d, status on port %d", pod.state.boot_id, _port(sessions), _port(status))
        serving(Serving(_port(sessions), pod.state))
        await _until_first_ends(
            _break_with(zygote),
            _wait(pod.broken),
            _prove(settings, targets, pod, zygote),
            watch_cells(pod.cells),
            pod.with_numpy.run(),
            pod.other_hash_seed.run(),
            _drain(pod, draining),
        )


async def _prove(settings: Settings, targets: Sequence[ProbeTarget], pod: Pod, zygote: Zygote) -> None:
    """Try the walls and probe the network; then only wait."""
    await asyncio.gather(_try_walls(settings, pod, zygote), _probe(settings, targets, pod))
    await asyncio.Event().wait()


async def _try_walls(settings: Settings, pod: Pod, zygote: Zygote) -> None:
    await zygote.ready()
    findings = await try_all_walls(zygote)
    for name, finding in sorted(findings.items()):
        log.error("wall %s is missing: %s", name, finding)
    if not findings:
        pod.spares = Spares(zygote, settings.spares)
        pod.spares.fill()
    pod.state.walls = {name: name not in findings for name in wall_names()}


async def _probe(settings: Settings, targets: Sequence[ProbeTarget], pod: Pod) -> None:
    if not targets:
        return
    result = await run_probe(targets, settings.probe_seconds)
    pod.state.probe = result
    reached = [attempt.name for attempt in result.attempts if attempt.reached]
    log.info("probe: gvisor %s, reached %s", result.gvisor, ", ".join(reached) or "nothing")


async def _serve_sessions(settings: Settings, pod: Pod) -> asyncio.Server:
    return await ws_create_server(
        lambda _: Socket(lambda socket: Connection(pod, socket).take),
        settings.host,
        settings.session_port,
        websocket_handshake_timeout=HANDSHAKE_SECONDS,
        max_frame_size=MAX_MESSAGE_BYTES,
        backlog=MAX_CONNECTIONS_BACKLOG,
    )


async def _drain(pod: Pod, draining: asyncio.Event) -> None:
    """After SIGTERM: refuse new sessions, end when the open ones have ended."""
    await draining.wait()
    pod.state.draining = True
    log.info("draining: %d sessions are open", pod.state.sessions)
    while pod.state.sessions:
        pod.changed.clear()
        await pod.changed.wait()


async def _break_with(zygote: Zygote) -> None:
    await zygote.broken
    raise PodBroken("the zygote died; the pod starts anew")


async def _until_first_ends(*works: Coroutine[Any, Any, None]) -> None:
    """Run all until one ends or fails; then cancel the others and raise what it raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _wait(broken: "asyncio.Future[None]") -> None:
    await broken


async def _close_sessions(server: asyncio.Server, pod: Pod) -> None:
    """Politely, but a worker that does not read what is said to it holds nobody up."""
    server.close()
    for socket in pod.connections:
        socket.close(WSCloseCode.GOING_AWAY, "the pod ends")
    impatient = asyncio.get_running_loop().call_later(CLOSE_SECONDS, _abort, pod.connections)
    try:
        await asyncio.gather(*pod.connections.values(), return_exceptions=True)
    finally:
        impatient.cancel()


def _abort(sockets: Iterable[Socket]) -> None:
    for socket in tuple(sockets):
        socket.abort()


async def _close(server: StatusServer) -> None:
    server.close()
    await server.wait_closed()


def _read_digest(settings: Settings) -> str:
    path = settings.token_digest_file
    try:
        digest = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(str(path), f"cannot be read: {error}", remedy="Mount the role's Secret there.") from error
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise InvalidInput(
            str(path), "is no SHA-256 in hexadecimal", remedy="It holds the digest of the session token."
        )
    return digest


def _read_targets(settings: Settings) -> tuple[ProbeTarget, ...]:
    """The probe's targets; a pod that admits unproven may go without."""
    path = settings.targets_file
    if settings.admit is Admit.UNPROVEN and not path.exists():
        return ()
    try:
        return PROBE_TARGETS.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise InvalidInput(str(path), f"holds no list of probe targets: {error}") from error


def _port(server: asyncio.Server | StatusServer) -> int:
    port: int = next(iter(server.sockets)).getsockname()[1]
    return port
