"""A pod from its start to its end: what it admits, what it says, how it drains and how its loss is told."""

import asyncio
import json
import os
import signal
import socket

import pytest
from tests.component.sandbox.programs import PROGRAMS, stepping
from tests.support.ports import free_port
from tests.support.sandbox_pods import (
    TOKEN,
    RunningPod,
    alive,
    descendants,
    eventually,
    pod_in_gvisor,
    pod_in_namespaces,
)
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.protocol import PROTOCOL_VERSION, Hello, Look
from spade_sandbox.client import NoCapacity, SandboxLost, SandboxPool
from spade_sandbox.client.errors import Refused
from spade_sandbox.client.link import connect_pod
from spade_sandbox.pod.trials import wall_names

GOOD = (PROGRAMS / "good" / "number_search.py").read_text()
LIMITS = SandboxLimits()
NO_USER_NAMESPACES = (
    "unshare", "--user", "--map-root-user", "sh", "-c",
    'echo 0 > /proc/sys/user/max_user_namespaces; exec "$0" "$@"',
)  # fmt: skip
"""As in a container whose seccomp profile forbids user namespaces."""


def targets(*ports: int) -> str:
    """A targets file of addresses on this machine's loopback."""
    return json.dumps([{"name": f"port {p}", "kind": "beacon", "host": "127.0.0.1", "port": p} for p in ports])


async def opened(pod: RunningPod, wait_seconds: float = 30.0) -> str:
    """First observation of a session on the pod."""
    async with (
        SandboxPool(pod.target, TOKEN) as pool,
        pool.session(GOOD, LIMITS, max_turns=5, wait_seconds=wait_seconds) as session,
    ):
        return await session.reset(1)


async def test_status_shows_walls_capacity_and_a_boot_id_of_its_own() -> None:
    with pod_in_namespaces(capacity=3) as one, pod_in_namespaces() as other:
        status = one.tried()
        assert set(status.walls) == set(wall_names())
        assert all(status.walls.values())
        assert (status.capacity, status.sessions, status.draining, status.served) == (3, 0, False, False)
        assert status.probe is None
        assert status.boot_id != other.status().boot_id
        assert one.get("/healthz") == (200, "ok\n")
        assert one.get("/metrics")[0] == 404
        await opened(one)
        assert one.status().served


async def test_pod_outside_gvisor_admits_nobody_even_with_a_closed_network() -> None:
    with pod_in_namespaces(admit="isolated", targets=targets(free_port())) as pod:
        probe = eventually("the probe has ended", lambda: pod.status().probe)
        assert not probe.gvisor
        assert probe.network_closed
        pod.tried()
        with pytest.raises(NoCapacity, match="isolation is not proven"):
            await opened(pod, wait_seconds=1.0)
        assert not pod.status().served


async def test_pod_in_gvisor_admits_after_a_probe_that_reached_nothing() -> None:
    with pod_in_gvisor(admit="isolated", targets=targets(free_port())) as pod:
        assert "hidden" in await opened(pod)
        probe = pod.status().probe
        assert probe is not None
        assert probe.gvisor
        assert probe.network_closed
        assert probe.attempts[0].detail


async def test_pod_in_gvisor_with_an_open_network_admits_nobody() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        pod_in_gvisor(
            admit="isolated", targets=targets(free_port(), listening.getsockname()[1]), probe_seconds=1
        ) as pod,
    ):
        probe = eventually("the probe has ended", lambda: pod.status().probe)
        assert [attempt.reached for attempt in probe.attempts] == [False, True]
        pod.tried()
        with pytest.raises(NoCapacity, match="isolation is not proven"):
            await opened(pod, wait_seconds=1.0)


async def test_pod_that_lacks_a_wall_serves_its_status_and_no_session() -> None:
    with pod_in_namespaces(launcher=NO_USER_NAMESPACES) as pod:
        assert not any(pod.tried().walls.values())
        with pytest.raises(NoCapacity, match="walls are missing"):
            await opened(pod, wait_seconds=1.0)
        assert pod.get("/healthz")[0] == 200


async def test_wrong_token_opens_nothing() -> None:
    with pod_in_namespaces() as pod:
        with pytest.raises(Refused, match="unauthorized"):
            await connect_pod("127.0.0.1", pod.session_port, "another token")
        pod.tried()
        async with SandboxPool(pod.target, "another token") as pool:
            with pytest.raises(NoCapacity, match="unauthorized"):
                async with pool.session(GOOD, LIMITS, max_turns=5, wait_seconds=1.0):
                    pass


async def test_loss_of_a_pod_in_mid_session_is_told_as_loss_and_leaves_no_process() -> None:
    with pod_in_namespaces(spares=0) as pod:
        async with SandboxPool(pod.target, TOKEN) as pool:
            async with pool.session(stepping("while True: pass"), LIMITS, max_turns=5) as session:
                await session.reset(1)
                below = descendants(pod.process.pid)
                spinning = asyncio.create_task(session.step("x"))
                await asyncio.to_thread(_until_busy, below)
                pod.signal(signal.SIGKILL)
                with pytest.raises(SandboxLost):
                    await spinning
                with pytest.raises(SandboxLost):
                    await session.reset(2)
            assert pool.stats.operations["lost"] == 1
        assert len(below) == 2, "a zygote and a cell were running"
        eventually("all of the pod's processes are gone", lambda: not alive(below), 10)


async def test_session_that_waits_moves_to_a_pod_that_comes_later() -> None:
    port = free_port()
    with pod_in_namespaces(capacity=1) as first:
        async with (
            SandboxPool([first.target, f"127.0.0.1:{port}"], TOKEN) as pool,
            pool.session(GOOD, LIMITS, max_turns=5) as held,
        ):
            await held.reset(1)
            waiting = asyncio.create_task(_pod_of_a_session(pool))
            await asyncio.to_thread(eventually, "one waits", lambda: pool.stats.wanted == 1)
            with pod_in_namespaces(session_port=port):
                assert f":{port}/" in await waiting


async def test_freed_place_goes_to_the_session_that_waits() -> None:
    with pod_in_namespaces(capacity=1) as pod:
        async with SandboxPool(pod.target, TOKEN) as pool:
            async with pool.session(GOOD, LIMITS, max_turns=5):
                waiting = asyncio.create_task(_pod_of_a_session(pool))
                await asyncio.to_thread(eventually, "one waits", lambda: pool.stats.wanted == 1)
                assert not waiting.done()
            assert f":{pod.session_port}/" in await waiting


async def test_draining_pod_serves_its_sessions_takes_no_other_and_then_goes() -> None:
    with pod_in_namespaces() as pod:
        async with SandboxPool(pod.target, TOKEN) as pool:
            async with pool.session(GOOD, LIMITS, max_turns=5) as session:
                await session.reset(1)
                pod.signal(signal.SIGTERM)
                await asyncio.to_thread(eventually, "the pod drains", lambda: pod.status().draining)
                with pytest.raises(NoCapacity, match="draining"):
                    async with pool.session(GOOD, LIMITS, max_turns=5, wait_seconds=1.0):
                        pass
                assert (await session.step(r"\boxed{1}")).observation
            assert await asyncio.to_thread(pod.process.wait, 20) == 0


async def test_pod_ends_when_its_zygote_dies_so_that_it_must_prove_itself_again() -> None:
    with pod_in_namespaces(spares=0) as pod:
        pod.tried()
        (zygote,) = descendants(pod.process.pid)
        os.kill(zygote, signal.SIGKILL)
        assert await asyncio.to_thread(pod.process.wait, 20) == 1
        assert "zygote died" in pod.log.read_text()


async def test_pod_whose_zygote_dies_ends_at_once_also_with_programs_of_another_zygote() -> None:
    with pod_in_namespaces(spares=0) as pod:
        pod.tried()
        (zygote,) = descendants(pod.process.pid)
        async with (
            SandboxPool(pod.target, TOKEN) as pool,
            pool.session(stepping("numpy.sum([1])"), LIMITS, max_turns=5) as session,
        ):
            await session.reset(1)
            os.kill(zygote, signal.SIGKILL)
            assert await asyncio.to_thread(pod.process.wait, 20) == 1


async def test_worker_that_reads_nothing_does_not_keep_a_pod_from_its_end() -> None:
    with pod_in_namespaces() as pod:
        pod.tried()
        deaf = await connect_deaf(pod)
        pod.signal(signal.SIGTERM)
        assert await asyncio.to_thread(pod.process.wait, 20) == 0
        deaf.close()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"capacity": "many"}, "SPADE_SANDBOX_CAPACITY"),
        ({"token_digest_file": "/nonexistent/digest"}, "/nonexistent/digest"),
        ({"admit": "isolated", "targets": "[]"}, "targets.json"),
        ({"admit": "isolated", "targets_file": "/nonexistent/targets"}, "/nonexistent/targets"),
    ],
)
def test_pod_with_a_wrong_setting_ends_and_names_it(wrong: dict[str, str], named: str) -> None:
    with pytest.raises(AssertionError, match="ended with 2") as error, pod_in_namespaces(**wrong):
        pass
    assert named in str(error.value)


async def connect_deaf(pod: RunningPod) -> asyncio.StreamWriter:
    """A connection that has asked for far more than it reads, and goes on reading nothing."""
    host, port = pod.target.split(":")
    _, writer = await asyncio.open_connection(host, int(port), limit=1024)
    protocol = ClientProtocol(parse_uri(f"ws://{pod.target}"))
    protocol.send_request(protocol.connect())
    requests = [Hello(id=1, version=PROTOCOL_VERSION, token=TOKEN), *(Look(id=n) for n in range(2, 50_000))]
    frames = [Frame(Opcode.TEXT, r.model_dump_json().encode()).serialize(mask=True, extensions=[]) for r in requests]
    writer.write(b"".join(protocol.data_to_send()) + b"".join(frames))
    await asyncio.sleep(1)
    return writer


async def _pod_of_a_session(pool: SandboxPool) -> str:
    async with pool.session(GOOD, LIMITS, max_turns=5) as session:
        await session.reset(1)
        return session.pod


def _until_busy(process_ids: set[int]) -> None:
    """Until one of these processes has used half a second of CPU time more."""

    def ticks() -> int:
        total = 0
        for number in process_ids:
            with open(f"/proc/{number}/stat") as file:
                total += int(file.read().rpartition(")")[2].split()[11])
        return total

    before = ticks()
    eventually("the program spins", lambda: ticks() > before + 20, 20)
