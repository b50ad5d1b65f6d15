"""A `spade-learner` process as a pod starts it, and what a test does with it."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
from tests.support.ports import free_port, free_ports

from spade_contracts.statuses import LearnerStatus
from spade_contracts.tasks import LearnerTask, RunRef
from spade_contracts.tokens import Door, token_digest
from spade_trainer.store.objects import Store

TARGET_TOKEN = "learner-token"
ENGINE_TOKEN = "engine-token"
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class RunningLearner:
    """The console script's process, torchrun's agent, with one child for each rank."""

    process: subprocess.Popen[bytes]
    control_port: int
    status_port: int
    log: Path

    def status(self) -> LearnerStatus | None:
        """Its open status; None before the port is open."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}/status", timeout=10) as found:
                return LearnerStatus.model_validate_json(found.read())
        except OSError:
            return None

    def text(self, path: str) -> str:
        """A page of the open port."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}{path}", timeout=10) as found:
            return str(found.read().decode())

    def put_target(
        self, version: int, engines: dict[str, str] | None = None, token: str = TARGET_TOKEN, last: int | None = None
    ) -> int:
        """`PUT /target`; the HTTP status."""
        listed = [{"name": name, "host": host} for name, host in (engines or {}).items()]
        body = {"policy_version": version, "engines": listed, "last_policy_version": last}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.control_port}/target",
            method="PUT",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as found:
                return int(found.status)
        except urllib.error.HTTPError as error:
            return error.code

    def until(self, wanted: Callable[[LearnerStatus], bool], seconds: float = 600) -> LearnerStatus:
        """The first status that a test waits for; fails with the process's log when it ends or takes too long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.status()
            if found is not None and wanted(found):
                return found
            if self.process.poll() is not None:
                raise AssertionError(f"the learner ended with {self.process.returncode}\n{self.tail()}")
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s; status {self.status()}\n{self.tail()}")

    def until_listening(self) -> LearnerStatus:
        """Until the ports are open."""
        return self.until(lambda _: True)

    def ranks(self) -> list[psutil.Process]:
        """The rank processes, by rank: the agent starts them in that order."""
        return sorted(psutil.Process(self.process.pid).children(), key=lambda child: child.pid)

    def kill(self) -> None:
        """SIGKILL to everything, as when a node is lost."""
        for victim in [*self.ranks(), psutil.Process(self.process.pid)]:
            victim.kill()
        self.process.wait(30)

    def stop(self) -> None:
        """End it, whatever it is doing."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text()[-6000:]


@dataclass(frozen=True)
class Node:
    """A place in a group of several pods, as the Job gives it to each."""

    index: int
    nodes: int
    meeting_port: int
    """Where the first node waits for the others."""

    def environment(self) -> dict[str, str]:
        """What the pod's environment says of it."""
        found = {"JOB_COMPLETION_INDEX": str(self.index), "MASTER_ADDR": "127.0.0.1"}
        # In a pod gloo finds its address by the pod's own name; a test's machine may have none that resolves.
        return found | {"MASTER_PORT": str(self.meeting_port), "GLOO_SOCKET_IFNAME": "lo"}


def start_learner(
    folder: Path,
    store: Store,
    *,
    ranks: int = 2,
    engine_ports: tuple[int, int] = (1, 1),
    engine_token: str = ENGINE_TOKEN,
    node: Node | None = None,
    colocated: bool = False,
) -> RunningLearner:
    """Start the console script on free ports; engine_ports: control and status. `node` None: a group of one pod."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{Door.LEARNER_CONTROL}.sha256").write_text(token_digest(TARGET_TOKEN))
    (folder / Door.ENGINE_CONTROL).write_text(engine_token)
    run = RunRef(namespace="test", name="learner", uid="0", storage_uri=store.uri)
    nodes = node.nodes if node else 1
    task = LearnerTask(run=run, attempt=0, nodes=nodes, ranks_per_node=ranks, colocated=colocated)
    (folder / "task.json").write_text(task.model_dump_json())
    control, status = free_ports(2)
    command = [sys.executable, "-m", "spade_trainer.learner.main", "--host", "127.0.0.1"]
    command += ["--task", str(folder / "task.json"), "--tokens", str(folder)]
    command += ["--control-port", str(control), "--status-port", str(status)]
    command += ["--engine-control-port", str(engine_ports[0]), "--engine-status-port", str(engine_ports[1])]
    paths = [str(ROOT / "contracts"), str(ROOT / "trainer"), str(ROOT / "sandbox")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    environment |= node.environment() if node else {}
    log = folder / f"log-{control}"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    return RunningLearner(process, control, status, log)


def start_group(folder: Path, store: Store, *, first: int) -> dict[int, RunningLearner]:
    """Two nodes with a rank each, by index; `first` is started first, as pods come up in any order."""
    port = free_port()
    nodes = sorted((Node(index, 2, port) for index in range(2)), key=lambda node: node.index != first)
    return {node.index: start_learner(folder / str(node.index), store, ranks=1, node=node) for node in nodes}
