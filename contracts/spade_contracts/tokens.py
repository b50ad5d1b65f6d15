"""Bearer tokens between our processes, derived so that nothing but the installation key must be kept.

A token opens one door of one run (design §11). Servers hold only its SHA-256, so that a broken sandbox can drive
nothing. The operator derives both and puts them into one Secret per role.
"""

import hashlib
import hmac
from enum import StrEnum


class Door(StrEnum):
    """What a token opens. Values are also the keys in the roles' Secrets (`<door>` and `<door>.sha256`)."""

    ENGINE_DATA = "engine-data"
    ENGINE_CONTROL = "engine-control"
    SANDBOX_SESSIONS = "sandbox-sessions"
    LEARNER_CONTROL = "learner-control"


def derive_token(installation_key: bytes, run_uid: str, door: Door) -> str:
    """The token of one door of one run: HMAC-SHA256 over `run UID/door`, as 64 hexadecimal characters."""
    return hmac.new(installation_key, f"{run_uid}/{door}".encode(), hashlib.sha256).hexdigest()


def token_digest(token: str) -> str:
    """What a server stores in place of the token: its SHA-256 in hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()


def token_matches(presented: str, digest: str) -> bool:
    """Whether the presented token has this digest; constant time."""
    return hmac.compare_digest(token_digest(presented), digest.strip())
