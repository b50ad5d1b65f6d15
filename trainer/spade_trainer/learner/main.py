"""`spade-learner`: torchrun's agent with this node's ranks.

One process for each rank, no restarts: a rank that dies takes the group down, the pod ends, and the operator replaces
the whole group, which replays what is recorded. Without CUDA the agent imports torch and Megatron once and forks the
ranks, which halves the start-up and shares the memory of code.
"""

import asyncio
import logging
import os
import resource
import sys
import uuid
import warnings
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spade_contracts import ports
from spade_contracts.errors import InvalidInput
from spade_contracts.exit_codes import ExitCode
from spade_contracts.tasks import LearnerTask
from spade_trainer.learner.neighbours import wait_for_first_sleep
from spade_trainer.learner.rank import engine_clients, run_rank
from spade_trainer.learner.settings import read_settings
from spade_trainer.weights.engine_client import EngineFault

RENDEZVOUS_HOST = "SPADE_RENDEZVOUS_HOST"
CUDA_DEVICE = Path("/dev/nvidiactl")
MONITOR_SECONDS = 0.5
JOIN_SECONDS = 30 * 86400
"""How long a node waits for the others. A pod without a room may come days later, and the operator says what it waits
for; a node that gave up would spend the run's budget on that."""
log = logging.getLogger("spade_learner")


@dataclass(frozen=True)
class Meeting:
    """How the nodes of a group find each other."""

    backend: str
    """torchrun's name of the way."""
    endpoint: str
    """Host and port."""
    node_rank: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point; never returns. Exit code 2 for a task that cannot be used, 0 after SIGTERM, when a rank failed 1, or
    3 if it found run storage full.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        settings = read_settings(given)
        task = settings.task
        check_locked_memory(task, resource.getrlimit(resource.RLIMIT_MEMLOCK)[0])
        meeting = meeting_of(task, os.environ)
        if task.colocated:
            asyncio.run(wait_for_first_sleep(engine_clients(settings)))
    except InvalidInput as error:
        log.error("%s", error)
        sys.exit(ExitCode.NEVER)
    except EngineFault as error:
        log.error("the engine of this pod does not give its devices up: %s", error)
        sys.exit(ExitCode.AGAIN)
    prepare_environment(task, os.environ)
    sys.exit(launch(task, meeting, given))


def meeting_of(task: LearnerTask, environment: Mapping[str, str]) -> Meeting:
    """A single node meets itself on the loopback; several meet at SPADE_RENDEZVOUS_HOST (or MASTER_ADDR).

    Each node's index is JOB_COMPLETION_INDEX. Raises InvalidInput if host or index are missing.
    """
    if task.nodes == 1:
        return Meeting("c10d", "127.0.0.1:0", 0)
    host = environment.get(RENDEZVOUS_HOST) or environment.get("MASTER_ADDR")
    index = environment.get("JOB_COMPLETION_INDEX", "")
    if not host or not index.isdigit():
        raise InvalidInput(
            "environment", f"{task.nodes} nodes need {RENDEZVOUS_HOST} and JOB_COMPLETION_INDEX to find each other"
        )
    return Meeting("static", f"{host}:{environment.get('MASTER_PORT', ports.LEARNER_RENDEZVOUS)}", int(index))


def check_locked_memory(task: LearnerTask, limit: int) -> None:
    """Raise InvalidInput if RDMA is wanted and memory may be locked only up to a limit, in bytes.

    Devices write into memory that must stay in place, gigabytes of it. The limit is the container runtime's: an added
    capability IPC_LOCK would not lift it, because a process that is not root loses added capabilities as it starts.
    """
    if task.rdma and limit != resource.RLIM_INFINITY:
        raise InvalidInput(
            "spec.learner.fabric",
            f"RDMA needs memory to be locked without a limit; this node allows {limit} bytes",
            remedy="Set LimitMEMLOCK=infinity for the container runtime of the learner's nodes.",
        )


def prepare_environment(task: LearnerTask, environment: MutableMapping[str, str]) -> None:
    """What must be set before torch is imported.

    One thread a rank, because sums depend on their number. A small cache of oneDNN's kernels: experts see other numbers
    of tokens each time, so that a large one is never hit and takes half a gigabyte.
    """
    environment.setdefault("OMP_NUM_THREADS", "1")
    environment.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
    if task.nodes == 1:
        environment.setdefault("GLOO_SOCKET_IFNAME", "lo")


def launch(task: LearnerTask, meeting: Meeting, arguments: Sequence[str]) -> int:
    """Run this node's ranks until one ends or a signal comes; the exit code."""
    warnings.filterwarnings("ignore", module=r"(torch|megatron)\.")
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    forked = not CUDA_DEVICE.exists()
    if forked:
        _preload()
    config = LaunchConfig(
        min_nodes=task.nodes,
        max_nodes=task.nodes,
        nproc_per_node=task.ranks_per_node,
        run_id=f"{task.run.uid}-{task.attempt}" if task.nodes > 1 else uuid.uuid4().hex,
        rdzv_backend=meeting.backend,
        rdzv_endpoint=meeting.endpoint,
        rdzv_configs={"rank": meeting.node_rank, "timeout": JOIN_SECONDS},
        local_addr="127.0.0.1" if task.nodes == 1 else None,
        max_restarts=0,
        monitor_interval=MONITOR_SECONDS,
        start_method="fork" if forked else "spawn",
    )
    try:
        elastic_launch(config, run_rank)(*arguments)
    except SignalException as signal:
        log.info("ended by %s", signal.sigval.name)
        return 0
    except ChildFailedError as failed:
        for rank, failure in failed.failures.items():
            log.error("rank %s ended with exit code %s", rank, failure.exitcode)
        # Its peers end for want of it, mostly before they are asked.
        full = any(failure.exitcode == ExitCode.STORAGE_FULL for failure in failed.failures.values())
        return ExitCode.STORAGE_FULL if full else ExitCode.AGAIN
    return 1


def _preload() -> None:
    """Import, before ranks are forked, what every rank needs."""
    from spade_trainer.learner import cpu_remedies

    cpu_remedies.apply()
    import spade_trainer.learner.conductor  # noqa: F401


if __name__ == "__main__":
    main()
