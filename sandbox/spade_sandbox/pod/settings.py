"""Settings of a sandbox pod, from environment variables and mounted files."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from spade_contracts.errors import InvalidInput
from spade_contracts.isolation import TARGETS_PATH
from spade_contracts.ports import SANDBOX_SESSIONS, SANDBOX_STATUS
from spade_contracts.tasks import TOKENS_PATH
from spade_contracts.tokens import Door

PREFIX = "SPADE_SANDBOX_"


class Admit(StrEnum):
    """When sessions are admitted. The status tells the truth in either case."""

    ISOLATED = "isolated"
    """Only after the probe has found gVisor and a closed network."""
    UNPROVEN = "unproven"
    """As soon as the walls stand: for development on a machine of one's own, never for strangers' programs."""


@dataclass(frozen=True)
class Settings:
    """What a pod is started with."""

    host: str
    session_port: int
    """0 takes any free port, which the pod's log names."""
    status_port: int
    capacity: int
    """Sessions at once."""
    spares: int
    """Cells forked ahead."""
    admit: Admit
    probe_seconds: float
    """How long a reachable target may stay so before the network counts as open."""
    token_digest_file: Path
    targets_file: Path


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Settings from `SPADE_SANDBOX_*` variables. Raises InvalidInput naming the variable."""

    def text(name: str, default: str) -> str:
        return environment.get(PREFIX + name, default)

    def number(name: str, default: float, low: float, high: float) -> float:
        try:
            value = float(text(name, str(default)))
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise InvalidInput(PREFIX + name, f"must be a number from {low} to {high}, not {text(name, '')!r}")
        return value

    try:
        admit = Admit(text("ADMIT", Admit.ISOLATED))
    except ValueError:
        raise InvalidInput(PREFIX + "ADMIT", f"must be one of {', '.join(Admit)}") from None
    return Settings(
        host=text("HOST", "0.0.0.0"),  # noqa: S104  # a pod serves its network; NetworkPolicy decides who comes
        session_port=int(number("SESSION_PORT", SANDBOX_SESSIONS, 0, 65535)),
        status_port=int(number("STATUS_PORT", SANDBOX_STATUS, 0, 65535)),
        capacity=int(number("CAPACITY", 32, 1, 1024)),
        spares=int(number("SPARES", 4, 0, 64)),
        admit=admit,
        probe_seconds=number("PROBE_SECONDS", 15.0, 0, 600),
        token_digest_file=Path(text("TOKEN_DIGEST_FILE", f"{TOKENS_PATH}/{Door.SANDBOX_SESSIONS}.sha256")),
        targets_file=Path(text("TARGETS_FILE", TARGETS_PATH)),
    )
