"""What stops a command of the cluster: one type, whose text says what is wrong and what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable


class ClusterError(Exception):
    """Something is missing or did not come up. The message ends with the remedy."""


def run_command(command: Callable[[], None]) -> int:
    """Run a command's main function; print a ClusterError as text instead of a traceback and return the exit code."""
    try:
        command()
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    return 0
