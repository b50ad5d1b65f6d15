"""What Docker is asked for and told, with an executable in its place that notes its words."""

import json
import os
from pathlib import Path

import pytest

from spade_sandbox.local import docker
from spade_sandbox.local.launch import BackendUnusable
from spade_sandbox.pod.stdio import TOKEN

FAKE = """#!/bin/sh
case "$1" in
info) {info} ;;
image) {image} ;;
esac
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a docker with these answers in PATH."""

    def install(info: str = """echo '{"runc":{},"runsc":{"path":"/x"}}'""", image: str = "echo sha256:0") -> Path:
        program = tmp_path / "docker"
        program.write_text(FAKE.format(info=info, image=image))
        program.chmod(0o755)
        return program

    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv(docker.IMAGE_VARIABLE, raising=False)
    return install


def test_container_runs_in_gvisor_closed_off_and_goes_when_it_ends(fake) -> None:
    program = fake()
    launch = docker.launch("spade-pod-x", "secret", 8)
    words = launch.command
    assert words[:2] == (str(program), "run")
    for word in (
        "--runtime=runsc", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
        "--rm", "--interactive", "--pull=never", "--user=65532:65532",
    ):  # fmt: skip
        assert word in words
    image = words.index(docker.IMAGE)
    assert words[image + 1 :] == ("python", "-m", "spade_sandbox.pod.stdio")
    assert launch.gvisor
    assert launch.clean_up == ((str(program), "rm", "--force", "--volumes", "spade-pod-x"),)


def test_token_is_in_no_process_list(fake) -> None:
    fake()
    launch = docker.launch("spade-pod-x", "secret", 8)
    assert not any("secret" in word for word in launch.command)
    assert launch.environment[TOKEN] == "secret"
    assert launch.command[launch.command.index(TOKEN) - 1] == "--env"


def test_image_of_ones_own_is_taken(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake()
    monkeypatch.setenv(docker.IMAGE_VARIABLE, "registry.example/sandbox:7")
    assert "registry.example/sandbox:7" in docker.launch("x", "secret", 8).command


def test_docker_gets_nothing_of_our_environment_but_the_way_to_its_server() -> None:
    given = docker.client_environment({"PATH": "/bin", "DOCKER_HOST": "unix:///x", "AWS_SECRET_ACCESS_KEY": "s"})
    assert given == {"PATH": "/bin", "DOCKER_HOST": "unix:///x"}


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"info": "echo 'Cannot connect to the Docker daemon' >&2; exit 1"}, "Cannot connect to the Docker daemon"),
        ({"info": "echo null"}, "does not answer"),
        ({"info": "echo '{'"}, "does not answer"),
        ({"info": """echo '{"runc":{}}'"""}, "make gvisor"),
        ({"image": "exit 1"}, "make docker-image"),
    ],
)
def test_docker_that_cannot_serve_says_why_and_what_to_do(fake, answers: dict[str, str], says: str) -> None:
    fake(**answers)
    with pytest.raises(BackendUnusable, match=says):
        docker.launch("x", "secret", 8)


def test_machine_without_docker_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendUnusable, match="not in PATH"):
        docker.launch("x", "secret", 8)


def test_runtimes_of_docker_are_read_as_it_prints_them(fake) -> None:
    fake(info="echo '" + json.dumps({"runsc": {"path": "/usr/local/bin/runsc", "runtimeArgs": ["--x"]}}) + "'")
    assert docker.launch("x", "secret", 8).gvisor
