"""The operator's own settings, from environment variables; all else is in the site file."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spade_contracts.errors import InvalidInput
from spade_contracts.ports import OPERATOR_METRICS
from spade_operator.kube import REQUEST_SECONDS

SITE_PATH = "/etc/spade/site/site.json"


@dataclass(frozen=True)
class Settings:
    """How this process runs."""

    site_file: Path
    identity: str
    """Holder's name in the lease; unique for each process."""
    lease_name: str
    lease_seconds: float
    """How long a silent holder keeps the lease; a successor of a killed operator waits so long."""
    http_host: str
    http_port: int
    workers: int
    """Passes at once."""
    resync_seconds: float
    """Everything is listed and looked at again so often, whatever the watches say."""
    api_seconds: float
    """How long a call to the API server may take, its repetitions included."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Settings from `SPADE_*` variables. Raises InvalidInput naming the variable."""
    return Settings(
        site_file=Path(environment.get("SPADE_SITE") or SITE_PATH),
        identity=environment.get("SPADE_IDENTITY") or f"{socket.gethostname()}-{os.getpid()}",
        lease_name=environment.get("SPADE_LEASE") or "spade-operator",
        lease_seconds=_number(environment, "SPADE_LEASE_SECONDS", 15, 3, 300),
        http_host=environment.get("SPADE_HTTP_HOST") or "0.0.0.0",  # noqa: S104  # NetworkPolicy decides who comes
        http_port=int(_number(environment, "SPADE_HTTP_PORT", OPERATOR_METRICS, 1, 65535)),
        workers=int(_number(environment, "SPADE_WORKERS", 16, 1, 256)),
        resync_seconds=_number(environment, "SPADE_RESYNC_SECONDS", 300, 5, 86400),
        api_seconds=_number(environment, "SPADE_API_SECONDS", REQUEST_SECONDS, 1, 300),
    )


def _number(environment: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    text = environment.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise InvalidInput(name, f"must be a number from {low:g} to {high:g}, not {text!r}")
    return value
