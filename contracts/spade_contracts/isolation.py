"""Targets of the isolation probe: a JSON list, mounted into sandbox pods and the beacon (design §11)."""

from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated

from pydantic import Field, TypeAdapter

from spade_contracts.base import Contract

TARGETS_PATH = "/etc/spade/probe/targets.json"


class TargetKind(StrEnum):
    """What a sandbox must not reach."""

    API_SERVER = "api-server"
    DNS = "dns"
    NODE = "node"
    METADATA = "metadata"
    OUTSIDE = "outside"
    NEIGHBOUR = "neighbour"
    BEACON = "beacon"


class TransportProtocol(StrEnum):
    """How a target is tried."""

    TCP = "tcp"
    UDP = "udp"


class ProbeTarget(Contract):
    """One place. Addresses only: a name that does not resolve would look like a closed network."""

    name: str = Field(min_length=1, max_length=128)
    kind: TargetKind
    host: IPv4Address | IPv6Address
    port: int = Field(ge=1, le=65535)
    protocol: TransportProtocol = TransportProtocol.TCP


PROBE_TARGETS: TypeAdapter[tuple[ProbeTarget, ...]] = TypeAdapter(
    Annotated[tuple[ProbeTarget, ...], Field(min_length=1, max_length=64)]
)
