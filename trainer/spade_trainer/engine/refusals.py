"""What an engine answers when it does not do what it was asked."""

from enum import StrEnum

from spade_contracts.engine_api import EngineErrorBody
from spade_contracts.errors import InfrastructureFault, SpadeError


class Code(StrEnum):
    """`EngineErrorBody.error`."""

    UNAUTHORIZED = "unauthorized"
    NOT_SERVING = "not_serving"
    WRONG_POLICY = "wrong_policy"
    BAD_REQUEST = "bad_request"
    TOO_LONG = "too_long"
    UPDATING = "updating"
    ASLEEP = "asleep"
    FAILED = "failed"


HTTP_STATUS: dict[Code, int] = {
    Code.UNAUTHORIZED: 401,
    Code.NOT_SERVING: 503,
    Code.WRONG_POLICY: 409,
    Code.BAD_REQUEST: 400,
    Code.TOO_LONG: 413,
    Code.UPDATING: 503,
    Code.ASLEEP: 503,
    Code.FAILED: 502,
}
TEMPORARY = frozenset({Code.NOT_SERVING, Code.WRONG_POLICY, Code.UPDATING, Code.ASLEEP, Code.FAILED})
"""Refusals that the same request may not meet again, here or at another engine."""


class Refused(SpadeError):
    """The engine does not do what was asked; `code` says why, `verified` which policy it could serve."""

    def __init__(self, code: Code, message: str, *, verified: int | None = None) -> None:
        self.code = code
        self.verified = verified
        self.permanent = code not in TEMPORARY
        super().__init__(message)

    @property
    def status(self) -> int:
        """The HTTP status that goes with the code."""
        return HTTP_STATUS[self.code]

    def body(self) -> EngineErrorBody:
        """The answer's body."""
        return EngineErrorBody(error=self.code, message=str(self), verified_policy_version=self.verified)


class UpstreamFault(InfrastructureFault):
    """vLLM did not answer, or not as it should. Temporary: it is restarted if it is dead."""
