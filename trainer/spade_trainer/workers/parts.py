"""Worker 0 waits for the parts of the others before it composes the manifest."""

import asyncio
from collections.abc import Callable, Collection

from spade_contracts.errors import InfrastructureFault

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 1800.0
"""How long no new part may appear before worker 0 gives up."""


class PartsMissing(InfrastructureFault):
    """Other workers left parts undone. Temporary: the Job's next try does them."""


async def wait_for_parts(
    wanted: Collection[int],
    present: Callable[[], Collection[int]],
    *,
    patience_seconds: float = PATIENCE_SECONDS,
    poll_seconds: float = POLL_SECONDS,
) -> None:
    """Return when every wanted slot has a part. Raises PartsMissing when none was added for `patience_seconds`."""
    loop = asyncio.get_running_loop()
    missing = set(wanted) - set(present())
    deadline = loop.time() + patience_seconds
    while missing:
        if loop.time() >= deadline:
            raise PartsMissing(f"slots {sorted(missing)[:10]} have no part after {patience_seconds:.0f} s without news")
        await asyncio.sleep(poll_seconds)
        now_missing = set(wanted) - set(present())
        if now_missing != missing:
            missing, deadline = now_missing, loop.time() + patience_seconds
