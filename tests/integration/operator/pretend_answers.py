"""What the pretended processes of a run say on their status ports, and what tests make of them."""

import json
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from pydantic import BaseModel
from tests.support.schedules import Death, WordTrouble

from spade_contracts import labels, ports
from spade_contracts.statuses import (
    BeaconStatus,
    EngineProof,
    EngineState,
    EngineStatus,
    LearnerState,
    LearnerStatus,
    LearnerTarget,
    ProbeAttempt,
    ProbeResult,
    SandboxStatus,
    StepFigures,
    WorkerStatus,
)
from spade_operator.kube import Object

EPISODES = 12
KINDS = ("api-server", "dns", "outside")


@dataclass
class Pod:
    """A pod that was given an address, and what its process says."""

    raw: Object
    ip: str
    boot_id: str = field(default_factory=lambda: secrets.token_hex(8))
    runner: web.AppRunner | None = None
    born: float = 0.0
    number: int = 1
    """Among the pods of its role, from 1."""
    restarts: int = 0
    version: int | None = None
    """Policy version: verified (engine), own (learner)."""
    target: LearnerTarget | None = None
    proofs: dict[str, EngineProof] = field(default_factory=dict)
    said: str = ""
    """Its previous answer."""
    part: str = ""
    """Role of one container, where the pod has two that answer."""

    @property
    def name(self) -> str:
        return str(self.raw["metadata"]["name"])

    @property
    def role(self) -> str:
        return self.part or self.group

    @property
    def group(self) -> str:
        """Role of the pod that it is in: what is counted when it is lost."""
        return str(self.raw["metadata"]["labels"].get(labels.ROLE, ""))

    @property
    def task(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw["metadata"]["annotations"][labels.TASK_ANNOTATION])
        return found


@dataclass
class World:
    """What the tests turn on and off."""

    gvisor: bool = True
    network_open: bool = False
    accepted: bool = True
    work_seconds: float = 0.3
    learnable_fraction: float = 0.5
    """What plays come to from now on."""
    false_accepts: int = 0
    """Known bad programs that the gate of design workers lets through."""
    fail_cleanup: bool = False
    """No folder of a deleted run can be deleted."""
    cleaned: list[str] = field(default_factory=list)
    """URIs of folders that were."""
    hold_play: bool = False
    """Play and verify workers do not finish."""
    sessions_open: int = 2
    """Sessions that each worker holds."""
    sessions_wanted: int = 0
    """Sessions that each worker waits for."""
    others_scale: bool = False
    """Kubernetes' own controllers make the pods of Deployments, and take them away."""
    sessions_held: int = 0
    """Open sessions in each sandbox."""
    crash_learner: bool = False
    """Each learner process dies as soon as it has a target."""
    learner_needs: str = "0"
    """Memory; a learner with a lower limit is killed when it has a target."""
    not_finite: bool = False
    """No step of the learner comes to numbers."""
    wrong_weights: bool = False
    """Engines compute with something else than they are given."""
    reject_all: bool = False
    """The gate accepts no program."""
    no_room_for: str = ""
    """Role whose pods fit on no node."""
    no_image_for: str = ""
    """Role whose pods find no image."""
    pods: dict[str, Pod] = field(default_factory=dict)
    """By UID."""
    played: list[int] = field(default_factory=list)
    """Rollouts, in the order their plays finished."""
    trained: list[int] = field(default_factory=list)
    designed: list[int] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    """URIs of programs."""
    targets: list[int] = field(default_factory=list)
    """Policy versions that learners were told, in order."""
    deaths: tuple[Death, ...] = ()
    """To come."""
    died: Counter[str] = field(default_factory=Counter)
    """Pods or processes that died, by role."""
    words: tuple[WordTrouble, ...] = ()
    """To come."""
    answers: Counter[str] = field(default_factory=Counter)
    """Answers of status ports, by role."""


def sandbox(world: World, pod: Pod) -> SandboxStatus:
    attempts = tuple(
        ProbeAttempt(name=kind, kind=kind, host="192.0.2.1", port=1, protocol="tcp", reached=world.network_open)
        for kind in (*KINDS, "beacon")
    )
    probe = ProbeResult(gvisor=world.gvisor, kernel="Linux version 4.4.0", attempts=attempts, seconds=0.1)
    return SandboxStatus(
        boot_id=pod.boot_id, protocol=1, walls={"seccomp": True}, probe=probe, sessions=world.sessions_held,
        capacity=32, draining=False, served=False,
    )  # fmt: skip


def beacon(world: World, pod: Pod) -> BeaconStatus:
    attempts = tuple(
        ProbeAttempt(name=kind, kind=kind, host="192.0.2.1", port=1, protocol="tcp", reached=True) for kind in KINDS
    )
    return BeaconStatus(boot_id=pod.boot_id, attempts=attempts)


def worker(world: World, pod: Pod) -> WorkerStatus:
    return WorkerStatus(
        boot_id=pod.boot_id, stage=pod.task["kind"], planned=EPISODES, done=5, sessions_open=world.sessions_open,
        sessions_wanted=world.sessions_wanted,
    )  # fmt: skip


def engine(world: World, pod: Pod) -> EngineStatus:
    resting = EngineState.ASLEEP if pod.part else EngineState.UNVERIFIED
    state = EngineState.SERVING if pod.version is not None else resting
    return EngineStatus(
        boot_id=pod.boot_id, state=state, loaded_policy_version=pod.version, verified_policy_version=pod.version,
        canary_passed=pod.version is not None, requests_in_flight=0, generated_tokens=0,
    )  # fmt: skip


def learner(world: World, pod: Pod) -> LearnerStatus:
    version = pod.version
    figures = None
    if version:
        figures = StepFigures(
            rollout=version - 1, loss=0.5, gradient_norm=1.25, kl=0.0, importance_mean=1.0,
            importance_clipped_fraction=0.0, player_samples=8, designer_samples=2, tokens=100, seconds=0.1,
        )  # fmt: skip
    failed = world.not_finite and pod.target is not None and pod.target.policy_version > 0
    return LearnerStatus(
        boot_id=pod.boot_id, state=LearnerState.FAILED if failed else LearnerState.IDLE, policy_version=version,
        target=pod.target.policy_version if pod.target else None, proofs=tuple(pod.proofs.values()),
        last_step=figures, failure="NonFinite" if failed else "", error="the loss is nan" if failed else "",
    )  # fmt: skip


ANSWERS: dict[str, tuple[int, Callable[[World, Pod], BaseModel]]] = {
    "sandbox": (ports.SANDBOX_STATUS, sandbox),
    "beacon": (ports.WORKER_STATUS, beacon),
    "worker": (ports.WORKER_STATUS, worker),
    "engine": (ports.ENGINE_STATUS, engine),
    "learner": (ports.LEARNER_STATUS, learner),
}
"""Role → its status port, and what it says there."""
