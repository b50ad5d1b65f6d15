"""`spade-learner`: become torchrun with this node's ranks.

One process for each rank, no restarts: a rank that dies takes the group down, the pod ends, and the operator replaces
the whole group, which replays what is recorded.
"""

import logging
import os
import sys
from collections.abc import Mapping, Sequence

from spade_contracts import ports
from spade_contracts.errors import InvalidInput
from spade_trainer.learner.settings import Settings, read_settings

RANK_MODULE = "spade_trainer.learner.rank"
RENDEZVOUS_HOST = "SPADE_RENDEZVOUS_HOST"
log = logging.getLogger("spade_learner")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point; never returns. Exit code 2 for a task that cannot be used, else torchrun's."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        settings = read_settings(given)
        command = torchrun(settings, given, os.environ)
    except InvalidInput as error:
        log.error("%s", error)
        sys.exit(2)
    os.execve(sys.executable, command, rank_environment(settings, os.environ))  # noqa: S606 - a list, no shell


def torchrun(settings: Settings, arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command that starts this node's ranks.

    A single node meets itself on the loopback. Several meet at the host in SPADE_RENDEZVOUS_HOST (or MASTER_ADDR),
    each with its index from JOB_COMPLETION_INDEX. Raises InvalidInput if those are missing.
    """
    task = settings.task
    where: list[str] = ["--standalone", "--local-addr", "127.0.0.1"]
    if task.nodes > 1:
        host = environment.get(RENDEZVOUS_HOST) or environment.get("MASTER_ADDR")
        index = environment.get("JOB_COMPLETION_INDEX", "")
        if not host or not index.isdigit():
            raise InvalidInput(
                "environment", f"{task.nodes} nodes need {RENDEZVOUS_HOST} and JOB_COMPLETION_INDEX to find each other"
            )
        port = environment.get("MASTER_PORT", str(ports.LEARNER_RENDEZVOUS))
        where = ["--node-rank", index, "--master-addr", host, "--master-port", port]
    ranks = ["--nnodes", str(task.nodes), "--nproc-per-node", str(task.ranks_per_node)]
    launcher = [sys.executable, "-m", "torch.distributed.run"]
    return [
        *launcher,
        *ranks,
        *where,
        "--max-restarts",
        "0",
        "--monitor-interval",
        "0.5",
        "-m",
        RANK_MODULE,
        *arguments,
    ]


def rank_environment(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """What ranks inherit: one thread each unless the pod says otherwise, because sums depend on their number."""
    defaults = {"OMP_NUM_THREADS": "1", "TORCHDYNAMO_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
    if settings.task.nodes == 1:
        defaults["GLOO_SOCKET_IFNAME"] = "lo"
    return {**defaults, **environment}


if __name__ == "__main__":
    main()
