"""Only gVisor passes for gVisor, and a network is closed only when a whole round reaches nothing."""

import asyncio
import socket
from ipaddress import IPv4Address

import pytest
from pydantic import ValidationError

from spade_contracts.isolation import PROBE_TARGETS, ProbeTarget, TargetKind, TransportProtocol
from spade_sandbox.pod import probe
from spade_sandbox.pod.probe import is_gvisor, run_probe

GVISOR_LOG = "[    0.000000] Starting gVisor...\n[    0.411233] Preparing for the zombie uprising...\n"
GVISOR_VERSION = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"
DEBIAN_VERSION = "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP 2024-02-01\n"
LOCAL = IPv4Address("127.0.0.1")


def test_both_marks_of_gvisor_together_are_gvisor() -> None:
    assert is_gvisor(GVISOR_LOG, GVISOR_VERSION)
    assert is_gvisor("<6>" + GVISOR_LOG, GVISOR_VERSION)


@pytest.mark.parametrize(
    ("log", "version"),
    [
        ("", GVISOR_VERSION),
        (GVISOR_LOG, DEBIAN_VERSION),
        (GVISOR_LOG, ""),
        ("", DEBIAN_VERSION),
        ("[    0.000000] Linux version 6.1.0\n[   12.000000] Starting gVisor...\n", GVISOR_VERSION),
        ("[   12.345678] Starting gVisor...\n", GVISOR_VERSION),
        ("x[    0.000000] Starting gVisor...\n", GVISOR_VERSION),
        (GVISOR_LOG, GVISOR_VERSION.strip() + " (patched)"),
        (GVISOR_LOG, "Linux version 4.4.0 (buildd@lcy01) #1 SMP\n"),
    ],
)
def test_one_mark_or_a_similar_one_is_not_gvisor(log: str, version: str) -> None:
    assert not is_gvisor(log, version)


def test_this_machine_is_not_gvisor() -> None:
    assert not is_gvisor(*probe.read_marks())


def target(port: int, protocol: TransportProtocol = TransportProtocol.TCP) -> ProbeTarget:
    """A place on this machine."""
    return ProbeTarget(name=f"{protocol}-{port}", kind=TargetKind.BEACON, host=LOCAL, port=port, protocol=protocol)


def nobody(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A port that nobody uses."""
    with socket.socket(socket.AF_INET, kind) as held:
        held.bind((str(LOCAL), 0))
        return int(held.getsockname()[1])


async def test_network_is_closed_as_soon_as_one_round_reaches_nothing() -> None:
    targets = [target(nobody()), target(nobody(socket.SOCK_DGRAM), TransportProtocol.UDP)]
    result = await run_probe(targets, patience_seconds=600)
    assert result.network_closed
    assert [attempt.reached for attempt in result.attempts] == [False, False]
    assert all(attempt.detail for attempt in result.attempts)


async def test_one_target_that_stays_reachable_means_open_when_patience_ends() -> None:
    with socket.create_server((str(LOCAL), 0)) as listening:
        targets = [target(nobody()), target(listening.getsockname()[1])]
        result = await run_probe(targets, patience_seconds=0.2)
    assert not result.network_closed
    assert [attempt.reached for attempt in result.attempts] == [False, True]
    assert result.seconds >= 0.2


async def test_target_that_closes_within_patience_counts_as_closed() -> None:
    listening = await asyncio.start_server(lambda reader, writer: closes.set(), str(LOCAL), 0)
    closes = asyncio.Event()

    async def close_when_reached() -> None:
        await closes.wait()
        listening.close()

    closing = asyncio.create_task(close_when_reached())
    result = await run_probe([target(listening.sockets[0].getsockname()[1])], patience_seconds=600)
    await closing
    assert result.network_closed


async def test_datagram_that_is_answered_has_reached_its_target() -> None:
    class Echo(asyncio.DatagramProtocol):
        def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
            self.transport = transport

        def datagram_received(self, data: bytes, addr: object) -> None:
            self.transport.sendto(data, addr)

    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(Echo, local_addr=(str(LOCAL), 0))
    try:
        port = transport.get_extra_info("sockname")[1]
        result = await run_probe([target(port, TransportProtocol.UDP)], patience_seconds=0)
    finally:
        transport.close()
    assert not result.network_closed


async def test_silence_is_not_reaching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "ATTEMPT_SECONDS", 0.1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind((str(LOCAL), 0))
        result = await run_probe([target(silent.getsockname()[1], TransportProtocol.UDP)], patience_seconds=0)
    assert result.network_closed
    assert result.attempts[0].detail == "no answer"


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '[{"name": "x", "kind": "dns", "host": "kubernetes.default", "port": 53}]',
        '[{"name": "x", "kind": "printer", "host": "10.0.0.1", "port": 53}]',
        '[{"name": "x", "kind": "dns", "host": "10.0.0.1", "port": 0}]',
        '[{"name": "x", "kind": "dns", "host": "10.0.0.1", "port": 53, "protocol": "icmp"}]',
    ],
)
def test_list_that_would_prove_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        PROBE_TARGETS.validate_json(text)
