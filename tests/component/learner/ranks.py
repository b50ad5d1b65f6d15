"""Run a function on so many ranks, each in a process of its own, and hand back what each returned.

Megatron's state and the CPU remedies belong to a process, so none of it may touch the test's own. A fork server has
torch and Megatron imported once; every rank is forked from it.
"""

import importlib
import multiprocessing as mp
import os
import traceback
from typing import Any

from tests.support.ports import free_port

SECONDS = 600.0
"""Against hanging alone: on a loaded machine the first import of Megatron takes minutes."""
server = mp.get_context("forkserver")
server.set_forkserver_preload(["tests.component.learner.preload"])


def on_ranks(count: int, work: str, *arguments: Any) -> list[Any]:
    """A function of the module `work`, on ranks 0 to count - 1; results by rank. Fails with a rank's own traceback."""
    os.environ["OMP_NUM_THREADS"] = "1"
    port = free_port()
    ends = [server.Pipe(duplex=False) for _ in range(count)]
    processes = [
        server.Process(target=_rank, args=(rank, count, port, writer, work, arguments), daemon=True)
        for rank, (_, writer) in enumerate(ends)
    ]
    for process in processes:
        process.start()
    try:
        results = []
        for rank, (reader, _) in enumerate(ends):
            assert reader.poll(SECONDS), f"rank {rank} did not answer within {SECONDS} s"
            kind, value = reader.recv()
            assert kind == "done", f"rank {rank}:\n{value}"
            results.append(value)
        return results
    finally:
        for process in processes:
            process.join(5)
            process.kill()


def _rank(rank: int, count: int, port: int, writer: Any, work: str, arguments: tuple[Any, ...]) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank))
    try:
        from spade_trainer.learner import backend

        joined = backend.start(local_rank=rank, collective_seconds=300, command_seconds=300)
        function = getattr(importlib.import_module("tests.component.learner.work"), work)
        writer.send(("done", function(joined, *arguments)))
    except BaseException:
        writer.send(("failed", traceback.format_exc()))
    os._exit(0)
