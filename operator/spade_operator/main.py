"""The operator's process: one event loop with kopf's watches, the lease, the poller, the passes and the HTTP port."""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, cast

import kopf
import uvloop

from spade_contracts.errors import InvalidInput
from spade_contracts.labels import RUN
from spade_operator import editions, handlers, lease, queues
from spade_operator.children.site import Site, load_site
from spade_operator.facts import Facts
from spade_operator.handlers.memory import Memory, hear
from spade_operator.http_server import make_app, serve
from spade_operator.keys import Key
from spade_operator.kube import PAGE, Kube
from spade_operator.kube_config import find_connection
from spade_operator.lease import Claim, Leadership
from spade_operator.lists import catch_up, first_list, miss, queue_all, resync
from spade_operator.looks import look_around
from spade_operator.metrics import make_telemetry
from spade_operator.polling import Poller
from spade_operator.posting import Poster
from spade_operator.queue import WorkQueue
from spade_operator.reconcile.act import Hands
from spade_operator.reconcile.passes import Shop, work
from spade_operator.settings import Settings, read_settings
from spade_operator.watches import keep_watching

MISCONFIGURED = 2
SILENT_SECONDS = 30.0
"""A poller without a round for so long means that the event loop is stuck."""
NEW_OBJECTS = 50_000
"""So many make the garbage collector look. A list of pods makes millions, none of them in a cycle, and each look at
the old ones goes through all that is known: 10,000 pods.
"""
WORKER_REST_SECONDS = 0.1
"""kopf keeps an object for so long after its event. Five seconds, its default, are 10,000 pods after a start."""
log = logging.getLogger("spade.operator")


def main() -> None:
    """Run until SIGTERM or SIGINT; exit code 2 for a wrong setting."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("kopf").setLevel(logging.WARNING)
    try:
        uvloop.run(operate(os.environ))
    except InvalidInput as error:
        log.error("%s", error)
        sys.exit(MISCONFIGURED)


async def operate(environment: Mapping[str, str]) -> None:
    """Start all parts, and stop all when one ends."""
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    settings = read_settings(environment)
    site = load_site(settings.site_file, environment)
    connection = find_connection(environment)
    loop = asyncio.get_running_loop()
    facts, queue = Facts(), WorkQueue[Key](first=lambda key: key.of_unit)
    telemetry = make_telemetry(facts)
    async with AsyncExitStack() as stack:
        kube = Kube(connection, telemetry.count_call, settings.api_seconds)
        stack.push_async_callback(kube.close)
        poller = Poller(facts, partial(hear, queue))
        stack.push_async_callback(poller.close)
        stack.callback(queue.close)
        leadership = Leadership(clock=loop.time)
        poster = Poster(kube, telemetry.count_event, settings.identity, loop.time)
        hands = Hands(kube, facts, leadership, poller, site, tell=poster.tell, count_repair=telemetry.count_repair)
        shop = Shop(hands, queue, telemetry)

        def healthy() -> str:
            silent = loop.time() - poller.last_round
            return f"no polling round for {silent:.0f} s" if poller.last_round and silent > SILENT_SECONDS else ""

        claim = Claim(site.operator_namespace, settings.lease_name, settings.identity, settings.lease_seconds)
        runner = await serve(make_app(facts, telemetry.registry, healthy), settings.http_host, settings.http_port)
        stack.push_async_callback(runner.cleanup)
        listed = asyncio.Event()
        leading = asyncio.create_task(lease.keep(kube, leadership, claim, listed.is_set))
        stack.push_async_callback(_end, leading)
        await first_list(kube, facts, site.watch_namespace)
        schemas = await editions.first_look(kube, facts)
        listed.set()
        await _until_one_ends(
            leading,
            keep_watching(
                lambda: _watch(site, Memory(facts, queue, connection), settings.api_seconds),
                lambda: catch_up(kube, facts, queue, site.watch_namespace),
            ),
            _on_lead(leadership, facts, queue, settings),
            resync(kube, facts, queue, site.watch_namespace, settings.resync_seconds),
            miss(kube, facts, queue, site.watch_namespace),
            editions.keep_looking(kube, facts, queue, schemas),
            poller.run(leadership.holds),
            look_around(kube, facts, queue, site, leadership.holds),
            poster.run(),
            *([queues.keep_looking(kube, facts, queue, site.watch_namespace)] if site.kueue else []),
            *(work(shop) for _ in range(settings.workers)),
        )  # fmt: skip


async def _on_lead(leadership: Leadership, facts: Facts, queue: WorkQueue[Key], settings: Settings) -> None:
    """Each time the lease is gained, everything gets a pass."""
    while True:
        await leadership.gained.wait()
        log.info("%s leads", settings.identity)
        queue_all(facts, queue.add)
        await leadership.lost.wait()


class _NoDifferences(kopf.DiffBaseStorage):  # type: ignore[misc]  # kopf has no types
    """kopf would copy every object of every event to see what changed in it; we look at facts."""

    def build(self, *, body: kopf.Body, extra_fields: object = None) -> kopf.BodyEssence:
        """Nothing of it."""
        return cast(kopf.BodyEssence, {})

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        """Nothing was stored."""
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Nothing is stored."""


def _watch(site: Site, memory: Memory, api_seconds: float) -> Coroutine[Any, Any, None]:
    """kopf, with nothing of it but the watches: no Events of its own, no scanning, no finalizers, no annotations."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.server_timeout = 300
    settings.queueing.idle_timeout = WORKER_REST_SECONDS
    settings.watching.chunk_size = PAGE
    settings.networking.request_timeout = api_seconds
    settings.persistence.diffbase_storage = _NoDifferences()
    # kopf would kill the process so long after its watches ended, although they begin again.
    settings.process.ultimate_exiting_timeout = None
    for group, version, plural in (
        ("", "v1", "pods"), ("batch", "v1", "jobs"), ("apps", "v1", "deployments"),
    ):  # fmt: skip
        settings.watching.label_selectors[group, version, plural] = RUN
    where: dict[str, Any] = {"namespaces": [site.watch_namespace]} if site.watch_namespace else {"clusterwide": True}
    assert handlers.__all__, "importing them registers them with kopf"
    operator: Coroutine[Any, Any, None] = kopf.operator(settings=settings, memo=memory, standalone=True, **where)
    return operator


async def _end(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks, unless they have ended, and wait for their ends."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _until_one_ends(*works: Coroutine[Any, Any, None] | asyncio.Task[None]) -> None:
    """Run all until one ends or fails; then cancel the others and raise what it raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await _end(*tasks)


if __name__ == "__main__":
    main()
