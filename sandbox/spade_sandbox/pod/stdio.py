"""Entry point of a pod without a network: `python -m spade_sandbox.pod.stdio`.

The pod listens on loopback as ever; this process relays connections to it over its standard input and output, and ends
with its input. So whoever started it needs no port of it, and when they die it dies.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import uvloop

from spade_contracts.base import Contract
from spade_contracts.errors import InvalidInput
from spade_sandbox.pod.__main__ import BROKEN, MISCONFIGURED
from spade_sandbox.pod.probe import is_gvisor, read_marks
from spade_sandbox.pod.relay import Relay, RelayBroken, Streams
from spade_sandbox.pod.server import Serving, run_pod
from spade_sandbox.pod.settings import PREFIX, Admit, Settings, read_settings
from spade_sandbox.pod.supervisor import PodBroken

TOKEN = f"{PREFIX}TOKEN"
"""The session token; there are no mounted Secrets here."""
LOOPBACK = "127.0.0.1"
TRY_SECONDS = 120.0
POLL_SECONDS = 0.05


class Report(Contract):
    """What the pod says of itself once its walls have been tried."""

    gvisor: bool
    """Whether the kernel bears gVisor's marks."""
    devices: tuple[str, ...]
    """Names of the network devices in sight; only `lo` when there is no network."""
    walls: dict[str, bool]
    """Whether each wall stands."""


def main() -> None:
    """Run until the input ends; exit codes as those of the pod (spade_sandbox.pod.__main__)."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for library in ("websockets", "picows"):
        logging.getLogger(library).setLevel(logging.WARNING)
    output = os.dup(1)
    os.dup2(2, 1)  # nothing else may write between the frames
    environment = dict(os.environ)
    token = environment.pop(TOKEN, "")
    os.environ.pop(TOKEN, None)
    try:
        with tempfile.TemporaryDirectory(prefix="spade-stdio-") as folder:
            digest = Path(folder) / "digest"
            digest.write_text(hashlib.sha256(token.encode()).hexdigest(), "ascii")
            uvloop.run(_serve(_settings(environment, digest), output))
    except InvalidInput as error:
        logging.getLogger("spade.sandbox").error("%s", error)
        sys.exit(MISCONFIGURED)
    except (PodBroken, RelayBroken, TimeoutError) as error:
        logging.getLogger("spade.sandbox").error("%s", error or "the walls were not tried in time")
        sys.exit(BROKEN)


def _settings(environment: Mapping[str, str], digest: Path) -> Settings:
    """The pod's usual settings, on loopback and without a probe: the report takes its place."""
    own = {
        "HOST": LOOPBACK,
        "SESSION_PORT": "0",
        "STATUS_PORT": "0",
        "ADMIT": Admit.UNPROVEN.value,
        "TOKEN_DIGEST_FILE": str(digest),
    }
    return read_settings({**environment, **{PREFIX + name: value for name, value in own.items()}})


async def _serve(settings: Settings, output: int) -> None:
    """The pod and its relay; the end of one ends the other."""
    serving: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()
    pod = asyncio.ensure_future(run_pod(settings, serving.set_result))
    relay = asyncio.ensure_future(_relay(serving, output))
    try:
        await asyncio.wait({pod, relay}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        pod.cancel()
        relay.cancel()
        ends = await asyncio.gather(pod, relay, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end


async def _relay(serving: "asyncio.Future[Serving]", output: int) -> None:
    """Report, then relay until the input ends."""
    relay = Relay(*await _pipes(output))
    pod = await asyncio.shield(serving)
    async with asyncio.timeout(TRY_SECONDS):
        while not pod.state.walls:  # noqa: ASYNC110  # set by a task that knows nothing of us
            await asyncio.sleep(POLL_SECONDS)
    devices = tuple(name for _, name in socket.if_nameindex())
    report = Report(gvisor=is_gvisor(*read_marks()), devices=devices, walls=pod.state.walls)
    await relay.report(report.model_dump_json().encode())
    with contextlib.suppress(RelayBroken):  # how a relay ends when nobody needs it any more
        await relay.run(lambda: asyncio.open_connection(LOOPBACK, pod.session_port))


async def _pipes(output: int) -> Streams:
    """Standard input, and what was standard output, as streams."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", buffering=0))
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(output, "wb", buffering=0)
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


if __name__ == "__main__":
    main()
