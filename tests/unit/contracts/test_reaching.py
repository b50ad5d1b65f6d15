"""A target is reached when somebody is there who answers, and only then."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from spade_contracts.isolation import ProbeTarget, TargetKind, TransportProtocol
from spade_contracts.reaching import try_target

LONG_SECONDS, SHORT_SECONDS = 10.0, 0.2


def target(port: int, protocol: TransportProtocol = TransportProtocol.TCP) -> ProbeTarget:
    return ProbeTarget.model_validate(
        {"name": "one", "kind": TargetKind.DNS, "host": "127.0.0.1", "port": port, "protocol": protocol}
    )


@asynccontextmanager
async def udp_server(answers: bool) -> AsyncIterator[int]:
    class Server(asyncio.DatagramProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            if answers:
                self.transport.sendto(b"an answer", addr)  # type: ignore[attr-defined]

    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(Server, ("127.0.0.1", 0))
    yield transport.get_extra_info("sockname")[1]
    transport.close()


async def test_a_listening_port_is_reached_and_a_closed_one_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert (await try_target(target(port), LONG_SECONDS)).reached
    refused = await try_target(target(port), LONG_SECONDS)
    assert not refused.reached
    assert "Connect call failed" in refused.detail


@pytest.mark.parametrize(("answers", "deadline_seconds"), [(True, LONG_SECONDS), (False, SHORT_SECONDS)])
async def test_a_datagram_must_be_answered(answers: bool, deadline_seconds: float) -> None:
    async with udp_server(answers) as port:
        found = await try_target(target(port, TransportProtocol.UDP), deadline_seconds)
    assert found.reached is answers
    assert found.detail == ("answered with 9 bytes" if answers else "no answer")
