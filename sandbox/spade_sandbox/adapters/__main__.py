"""`python -m spade_sandbox.adapters PROGRAM... --sandboxes HOST:PORT --token-file FILE`: serve OpenEnv clients.

Exit code 2 for a wrong argument. Whoever reaches the port can play; it listens on loopback unless told otherwise.
"""

import argparse
import asyncio
import contextlib
import signal
from pathlib import Path

from aiohttp import web

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_sandbox.adapters.openenv import Served, application
from spade_sandbox.client import SandboxPool


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m spade_sandbox.adapters", description="Serve to OpenEnv clients.")
    parser.add_argument("programs", nargs="+", type=Path, help="files, each served under its name without .py")
    parser.add_argument("--sandboxes", required=True, action="append", help="sandbox pods, host or host:port")
    parser.add_argument("--token-file", required=True, type=Path, help="file with the session token")
    parser.add_argument("--domain", choices=[domain.value.lower() for domain in Domain], default="games")
    parser.add_argument("--max-turns", type=int, default=25, help="turns at most; a program's own limit may be lower")
    parser.add_argument("--wait-seconds", type=float, default=30.0, help="how long a reset waits for a pod")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    try:
        programs = {path.stem: path.read_text(encoding="utf-8") for path in arguments.programs}
        token = arguments.token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        parser.error(str(error))
    if len(programs) < len(arguments.programs):
        parser.error("two programs have the same name; rename one")
    asyncio.run(_serve(arguments, programs, token))


async def _serve(arguments: argparse.Namespace, programs: dict[str, str], token: str) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with SandboxPool(arguments.sandboxes, token) as pool:
        served = Served(
            programs=programs,
            pool=pool,
            limits=SandboxLimits(),
            domain=Domain(arguments.domain.capitalize()),
            max_turns=arguments.max_turns,
            wait_seconds=arguments.wait_seconds,
        )
        runner = web.AppRunner(application(served), shutdown_timeout=2.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, arguments.host, arguments.port).start()
            host, port = runner.addresses[0][:2]
            print(f"serving {len(programs)} programs on http://{host}:{port}", flush=True)
            await stop.wait()
        finally:
            with contextlib.suppress(TimeoutError):
                await runner.cleanup()


if __name__ == "__main__":
    main()
