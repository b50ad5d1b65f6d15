"""A pod admits a session only when every condition holds, and otherwise says which does not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from spade_contracts.errors import InvalidInput
from spade_contracts.protocol import FaultKind
from spade_contracts.statuses import ProbeAttempt, ProbeResult
from spade_sandbox.pod.settings import Admit, read_settings
from spade_sandbox.pod.state import PodState


def probed(gvisor: bool = True, reached: bool = False, attempts: int = 1) -> ProbeResult:
    """A probe's result."""
    attempt = ProbeAttempt(name="a", kind="dns", host="10.0.0.1", port=53, protocol="tcp", reached=reached)
    return ProbeResult(gvisor=gvisor, kernel="k", attempts=(attempt,) * attempts, seconds=1)


def proven(admit: Admit = Admit.ISOLATED) -> PodState:
    """A pod in which all is well."""
    return PodState(capacity=2, admit=admit, walls={"pid": True, "root": True}, probe=probed())


def test_proven_pod_admits() -> None:
    assert proven().refusal() is None
    assert proven().load().capacity == 2


CONDITIONS: dict[str, tuple[Callable[[PodState], None], FaultKind]] = {
    "walls untried": (lambda pod: pod.walls.clear(), FaultKind.NOT_ISOLATED),
    "a wall is missing": (lambda pod: pod.walls.update(pid=False), FaultKind.NOT_ISOLATED),
    "not probed": (lambda pod: setattr(pod, "probe", None), FaultKind.NOT_ISOLATED),
    "not gVisor": (lambda pod: setattr(pod, "probe", probed(gvisor=False)), FaultKind.NOT_ISOLATED),
    "network open": (lambda pod: setattr(pod, "probe", probed(reached=True)), FaultKind.NOT_ISOLATED),
    "nothing was tried": (lambda pod: setattr(pod, "probe", probed(attempts=0)), FaultKind.NOT_ISOLATED),
    "draining": (lambda pod: setattr(pod, "draining", True), FaultKind.CAPACITY),
    "full": (lambda pod: setattr(pod, "sessions", 2), FaultKind.CAPACITY),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_each_condition_alone_refuses(name: str) -> None:
    spoil, kind = CONDITIONS[name]
    pod = proven()
    spoil(pod)
    refusal = pod.refusal()
    assert refusal is not None
    assert refusal[0] is kind


def test_pod_that_admits_nobody_offers_no_capacity() -> None:
    for name, (spoil, _) in CONDITIONS.items():
        pod = proven()
        spoil(pod)
        load = pod.load()
        assert load.sessions >= load.capacity, name


def test_development_pod_admits_without_proof_but_never_without_walls() -> None:
    pod = proven(Admit.UNPROVEN)
    pod.probe = None
    assert pod.refusal() is None
    assert not pod.isolated
    pod.walls["root"] = False
    assert pod.refusal() is not None


def test_every_boot_has_an_id_of_its_own() -> None:
    assert len({proven().status().boot_id for _ in range(100)}) == 100


def test_settings_have_the_ports_and_files_of_the_contracts() -> None:
    settings = read_settings({})
    assert (settings.session_port, settings.status_port) == (7400, 7401)
    assert settings.admit is Admit.ISOLATED
    assert settings.token_digest_file == Path("/etc/spade/tokens/sandbox-sessions.sha256")
    assert settings.targets_file == Path("/etc/spade/probe/targets.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [("CAPACITY", "0"), ("CAPACITY", "nan"), ("ADMIT", "all"), ("SESSION_PORT", "x"), ("SPARES", "-1")],
)
def test_wrong_setting_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=f"SPADE_SANDBOX_{name}"):
        read_settings({f"SPADE_SANDBOX_{name}": value})
