"""The root of all our errors, and the two questions every handler asks of one.

    SpadeError
    ├── InvalidInput          what a user wrote is wrong; permanent
    ├── StorageConflict       run storage holds something else; permanent
    ├── EnvironmentFault      a generated program misbehaved (spade_sandbox.client)
    └── InfrastructureFault   a pod, connection or disk failed; never scored; temporary

Packages derive their own errors from these. Each message says what happened, where, and what to do.
"""


class SpadeError(Exception):
    """An error of ours. `permanent` says whether trying the same thing again can help."""

    permanent: bool = True

    def __init__(self, message: str, *, remedy: str = "") -> None:
        self.remedy = remedy
        ended = message if not remedy or message.rstrip().endswith((".", "!", "?", ":")) else f"{message}."
        super().__init__(f"{ended} {remedy}".strip())


class InvalidInput(SpadeError):
    """What a user or a file supplied breaks a rule of ours; `where` is a path into it."""

    def __init__(self, where: str, message: str, *, remedy: str = "") -> None:
        self.where = where
        super().__init__(f"{where}: {message}", remedy=remedy)


class StorageConflict(SpadeError):
    """Run storage already holds a different thing under this name; nothing was overwritten."""


class ManifestMissing(SpadeError):
    """A unit of run storage is not finished (yet): its manifest does not exist."""

    permanent = False


class EnvironmentFault(SpadeError):
    """A generated program misbehaved; `kind` is the typed outcome of the sandbox protocol, `limit` the limit that it
    exceeded, if that is why (spade_contracts.protocol: FaultKind, Limit).
    """

    def __init__(self, kind: str, message: str, limit: str | None = None) -> None:
        self.kind = kind
        self.limit = limit
        super().__init__(message)


class InfrastructureFault(SpadeError):
    """Something of ours failed under an episode; it is retried and masked, never scored."""

    permanent = False
