"""How a session is opened on one pod: upload what it does not hold, and see through a pod that never holds it."""

from collections.abc import Callable
from dataclasses import dataclass

from spade_contracts.protocol import FaultKind, Open, OpenResult, Put, PutResult
from spade_sandbox.client.errors import Refused
from spade_sandbox.client.link import PodLink
from spade_sandbox.client.session import GRACE_SECONDS

FORK_SECONDS = 30.0
PUT_SECONDS = 30.0
MAX_PUTS = 3
"""A pod may forget a source in favour of others, but not again and again under one `open`."""
NO_ROOM = frozenset({FaultKind.CAPACITY, FaultKind.NOT_ISOLATED})


@dataclass(frozen=True)
class Source:
    """A program as it is sent."""

    text: str
    sha256: str


async def open_on(link: PodLink, source: Source, make: Callable[[int], Open]) -> int:
    """Open a session and return its number, which is then in `link.sessions`.

    Raises EnvironmentFault, SandboxLost, and Refused when the pod takes no session now.
    """
    for _ in range(MAX_PUTS):
        try:
            if source.sha256 not in link.sources:
                await link.request(
                    lambda n: Put(id=n, sha256=source.sha256, source=source.text), PutResult, PUT_SECONDS
                )
                link.sources.add(source.sha256)
            load_seconds = make(0).limits.load_seconds
            result = await link.request(make, OpenResult, load_seconds + FORK_SECONDS + GRACE_SECONDS)
        except Refused as error:
            if error.kind in NO_ROOM:
                raise
            if error.kind is not FaultKind.UNKNOWN_SOURCE:
                raise link.give_up(f"refused to open a session ({error})") from error
            link.sources.discard(source.sha256)
        else:
            if result.session in link.sessions:
                raise link.give_up("gave two sessions the same number")
            link.sessions.add(result.session)
            link.load = result.load
            return result.session
    raise link.give_up("forgets every source that it is given")
