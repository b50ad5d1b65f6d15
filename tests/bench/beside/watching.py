"""Watches of the API server's own events, with the time at which each came: what an onlooker sees, and when."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import aiohttp

from spade_operator.kube_config import Connection

Object = dict[str, Any]
Seen = Callable[[str, Object, float], None]
"""Told the kind of event, the object, and when it came (monotonic seconds)."""
LINE_BYTES = 8 * 2**20


async def watch(connection: Connection, paths: Sequence[str], seen: Seen) -> None:
    """Watch all of these until cancelled; a watch that ends is begun again."""
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(ssl=connection.ssl_context() or True)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=LINE_BYTES) as session:
        await asyncio.gather(*(_watch(session, connection, path, seen) for path in paths))


async def _watch(session: aiohttp.ClientSession, connection: Connection, path: str, seen: Seen) -> None:
    headers = {"Authorization": f"Bearer {connection.bearer()}"}
    query = {"watch": "true", "allowWatchBookmarks": "true"}
    while True:
        try:
            async with session.get(f"{connection.server}/{path}", params=query, headers=headers) as answer:
                async for line in answer.content:
                    event = json.loads(line)
                    if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                        seen(event["type"], event["object"], time.monotonic())
        except aiohttp.ClientError:
            await asyncio.sleep(0.5)
