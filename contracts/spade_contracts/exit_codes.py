"""Exit codes of our workers and of the learner, which the operator reads: whether another try can help, and when."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a process of ours ended."""

    DONE = 0
    """Its task is done."""
    AGAIN = 1
    """Infrastructure failed; trying again can help."""
    NEVER = 2
    """A setting is wrong, or we are; another try would only repeat it."""
    STORAGE_FULL = 3
    """Run storage has no room; trying again helps once somebody has made some."""
