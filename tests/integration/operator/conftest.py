"""A namespace with a pretend cluster, and the operator as a process of its own, for each test."""

import asyncio
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest
import pytest_asyncio
from tests.integration.operator.pretend import PretendCluster
from tests.support.accounts import kubeconfig_of, rights_of
from tests.support.api_server import ApiServer
from tests.support.children import RESOURCES
from tests.support.helm import render
from tests.support.ports import claimed_subnet, free_port

from spade_operator.kube import Kube, NotFound, Object
from spade_operator.kube_config import read_kubeconfig
from spade_operator.records import Kind

ROOT = Path(__file__).parents[3]
T = TypeVar("T")
PLACEHOLDER = "the-namespace"
LEASE = "spade-operator-lease"
"""As the chart names it for a release `spade`; the operator may use no other."""


@dataclass
class Stage:
    """One test's namespace."""

    server: ApiServer
    kube: Kube
    namespace: str
    cluster: PretendCluster
    site_file: Path
    http_port: int
    log: Path
    kubeconfig: Path
    """With the rights that the chart gives the operator, and no others."""
    resync_seconds: int = 30

    async def create_run(self, name: str = "mini", **spec: Any) -> Object:
        """A SpadeRun with the smallest spec and these fields over it."""
        whole = {
            "model": {"uri": "package:tiny"},
            "rollouts": 3,
            "environments": {"cycleLength": 2, "perCycle": 6},
            **spec,
        }
        manifest: Object = {"apiVersion": "spade.dev/v1alpha1", "kind": "SpadeRun",
                            "metadata": {"name": name, "namespace": self.namespace}, "spec": whole}  # fmt: skip
        return await self.kube.create(manifest)

    async def create_pool(self, name: str = "pool", **spec: Any) -> Object:
        """A stand-alone EnvBatch with the smallest spec and these fields over it."""
        whole = {"source": {"programs": "file:///storage/programs"}, "storage": {"claimName": "programs"}, **spec}
        manifest: Object = {"apiVersion": "spade.dev/v1alpha1", "kind": "EnvBatch",
                            "metadata": {"name": name, "namespace": self.namespace}, "spec": whole}  # fmt: skip
        return await self.kube.create(manifest)

    async def run(self, name: str = "mini") -> Object:
        """The SpadeRun as it is now."""
        return await self.kube.get(Kind.RUN, self.namespace, name)

    async def change(self, name: str = "mini", kind: str = "spaderun", **spec: Any) -> None:
        """New values of spec fields."""
        patched = self.server.kubectl(
            "patch", kind, name, "-n", self.namespace, "--type=merge", "-p", json.dumps({"spec": spec})
        )
        assert patched.returncode == 0, patched.stderr

    async def items(self, kind: str) -> tuple[Object, ...]:
        """All objects of a kind here."""
        return (await self.kube.list(kind, self.namespace)).items

    def events(self, name: str = "mini") -> list[Object]:
        """Events about an object, in their order."""
        listed = self.server.kubectl(
            "get", "events.events.k8s.io", "-n", self.namespace, "-o", "json", "--sort-by=.eventTime"
        )
        assert listed.returncode == 0, listed.stderr
        items: list[Object] = json.loads(listed.stdout)["items"]
        return [item for item in items if item["regarding"]["name"] == name]

    async def until_none(self, *kinds: Kind, seconds: float = 90) -> None:
        """No object of these kinds is here, as the API server has it."""
        left: list[str] = []

        async def none() -> bool:
            left[:] = [item["metadata"]["name"] for kind in kinds for item in await self.items(kind)]
            return not left

        assert await within(seconds, none), f"still there after {seconds} s: {', '.join(left)}"

    async def until(
        self, what: str, look: Callable[[Object], T], seconds: float = 180, name: str = "mini", kind: Kind = Kind.RUN
    ) -> T:
        """The first truthy thing that `look` finds in the run, or in another object."""
        seen: Object = {}

        async def look_again() -> T:
            nonlocal seen
            try:
                seen = await self.kube.get(kind, self.namespace, name)
            except NotFound:
                seen = {}
            return look(seen)

        found = await within(seconds, look_again)
        if found:
            return found
        log = self.log.read_text()[-4000:] if self.log.exists() else ""
        raise AssertionError(f"not within {seconds} s: {what}\n{json.dumps(seen.get('status'), indent=1)}\n{log}")

    async def page(self, path: str) -> str:
        """A page of the operator's HTTP port."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.http_port}{path}") as answer,
        ):
            return await answer.text()

    @asynccontextmanager
    async def operator(self, http_port: int | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
        """The operator, started and at the end stopped with SIGTERM."""
        process = await self.start_operator(http_port)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
                try:
                    await asyncio.wait_for(process.wait(), 15)
                except TimeoutError:
                    process.kill()
                    await process.wait()

    def serve_all_namespaces(self) -> None:
        """From now on operators are cluster-wide, as the administrator. What earlier tests left is gone."""
        cleared = self.server.kubectl(
            "delete", "spaderuns,envbatches,rolloutjobs", "--all", "--all-namespaces", "--wait=false"
        )
        assert cleared.returncode == 0, cleared.stderr
        site = json.loads(self.site_file.read_text())
        self.site_file.write_text(json.dumps(site | {"watchNamespace": ""}))
        self.kubeconfig = self.server.kubeconfig

    def environment(self, **changes: str) -> dict[str, str]:
        """Environment of an operator process here."""
        paths = [str(ROOT / part) for part in ("contracts", "operator")]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "KUBECONFIG": str(self.kubeconfig),
            "SPADE_SITE": str(self.site_file),
            "SPADE_HTTP_HOST": "127.0.0.1",
            "SPADE_HTTP_PORT": str(self.http_port),
            "SPADE_RESYNC_SECONDS": str(self.resync_seconds),
            "SPADE_LEASE": LEASE,
            "SPADE_LEASE_SECONDS": "4",
            **changes,
        }

    async def start_operator(self, http_port: int | None = None) -> asyncio.subprocess.Process:
        """A new operator process."""
        environment = self.environment(SPADE_HTTP_PORT=str(http_port or self.http_port))
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-m", "spade_operator.main", env=environment, stdout=log, stderr=log
            )


async def within(seconds: float, look: Callable[[], Awaitable[T]]) -> T | None:
    """The first truthy thing that `look` finds; None when the time is over."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        found = await look()
        if found:
            return found
        await asyncio.sleep(0.05)
    return None


def condition(run: Object, kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition; empty strings when it is absent."""
    for found in run.get("status", {}).get("conditions", []):
        if found["type"] == kind:
            return found["status"], found["reason"], found.get("message", "")
    return "", "", ""


@pytest.fixture(scope="session")
def chart_rights() -> str:
    """As `rights_of_the_chart`."""
    return rights_of_the_chart()


def rights_of_the_chart() -> str:
    """The chart's service account, roles and bindings as JSON, for a placeholder's namespace."""
    return rights_of(render({"watchNamespace": PLACEHOLDER}, namespace=PLACEHOLDER))


def operators_kubeconfig(server: ApiServer, namespace: str, rights: str, path: Path) -> Path:
    """A kubeconfig of the operator's service account there."""
    applied = server.kubectl("apply", "-f", "-", stdin=rights.replace(PLACEHOLDER, namespace))
    assert applied.returncode == 0, applied.stderr
    return kubeconfig_of(server, namespace, "spade-operator", path)


@asynccontextmanager
async def staged(server: ApiServer, rights: str, folder: Path) -> AsyncIterator[Stage]:
    """A fresh namespace with everything but an operator."""
    with claimed_subnet() as subnet:
        async with _staged(server, rights, folder, subnet) as stage:
            yield stage


@asynccontextmanager
async def _staged(server: ApiServer, rights: str, folder: Path, subnet: int) -> AsyncIterator[Stage]:
    namespace = f"test-{secrets.token_hex(4)}"
    made = await asyncio.to_thread(server.kubectl, "create", "namespace", namespace)
    assert made.returncode == 0, made.stderr
    key_file, site_file = folder / "key", folder / "site.json"
    key_file.write_bytes(b"k" * 32)
    targets = [{"kind": kind, "host": "192.0.2.1", "port": 1} for kind in ("api-server", "dns", "outside")]
    site_file.write_text(json.dumps({
        "images": {name: f"spade/{name}:test" for name in ("sandbox", "worker", "trainer")},
        "sandboxRuntimeClass": "gvisor", "operatorNamespace": namespace, "operatorLabels": {"app": "operator"},
        "watchNamespace": namespace, "resources": RESOURCES, "targets": targets, "installationKeyFile": str(key_file),
    }))  # fmt: skip
    kube = Kube(read_kubeconfig(server.kubeconfig))
    cluster = PretendCluster(kube, namespace, b"k" * 32, subnet)
    playing = asyncio.create_task(cluster.run())
    port = free_port()
    try:
        kubeconfig = await asyncio.to_thread(operators_kubeconfig, server, namespace, rights, folder / "kubeconfig")
        yield Stage(server, kube, namespace, cluster, site_file, port, folder / "operator.log", kubeconfig)
    finally:
        playing.cancel()
        (end,) = await asyncio.gather(playing, return_exceptions=True)
        await kube.close()
        await asyncio.to_thread(server.kubectl, "delete", "namespace", namespace, "--wait=false")
        if not isinstance(end, asyncio.CancelledError):
            raise AssertionError(f"the pretended cluster stopped before its test did: {end!r}")


@pytest_asyncio.fixture
async def stage(api_server: ApiServer, chart_rights: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """A fresh namespace with everything but an operator."""
    async with staged(api_server, chart_rights, tmp_path) as made:
        yield made


__all__ = ["RESOURCES", "Stage", "condition", "stage", "staged"]
