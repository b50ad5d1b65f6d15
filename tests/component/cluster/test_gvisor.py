"""runsc comes from the cluster's own module, is put in one place, and is registered with a Docker that answers."""

import json
import os
from pathlib import Path

import pytest
from spade_cluster.binaries import binaries_folder
from spade_cluster.errors import ClusterError
from spade_cluster.gvisor import install_runsc, installed_runsc, register_with_docker
from spade_cluster.settings import Layout

RUNSC = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/words"
echo '{"runsc": {"path": "'"$0"'"}}' > "$(dirname "$0")/runtimes"
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A home in which the cluster has built its runsc, and a PATH without Docker."""
    found = Layout(home=tmp_path / "home")
    program(binaries_folder(found) / "runsc", RUNSC)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return found


def docker(tmp_path: Path, runtimes: object) -> None:
    """A docker that knows these runtimes, and what runsc adds to its configuration."""
    added = tmp_path / "home" / "gvisor" / "runtimes"
    text = f"#!/bin/sh\ncat {added} 2>/dev/null || echo '{json.dumps(runtimes)}'\n"
    program(tmp_path / "bin" / "docker", text)


def test_the_cluster_s_build_is_put_in_its_own_place_once(layout: Layout) -> None:
    assert install_runsc(layout)
    assert installed_runsc(layout).read_text() == RUNSC
    assert os.access(installed_runsc(layout), os.X_OK)
    assert not install_runsc(layout)


def test_another_version_replaces_it(layout: Layout) -> None:
    install_runsc(layout)
    installed_runsc(layout).with_name("version").write_text("an older module")
    assert install_runsc(layout)


def test_machine_without_docker_has_nothing_to_register(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert "not installed" in register_with_docker(layout)


def test_docker_that_does_not_answer_is_said_and_is_no_error(layout: Layout, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "docker", "#!/bin/sh\nexit 1\n")
    assert "does not answer" in register_with_docker(layout)


def test_runtime_that_is_there_is_left_alone(layout: Layout, tmp_path: Path) -> None:
    install_runsc(layout)
    docker(tmp_path, {"runsc": {"path": str(installed_runsc(layout))}})
    assert "already" in register_with_docker(layout)
    assert not installed_runsc(layout).with_name("words").exists()


def test_docker_is_told_by_runsc_itself_and_asked_to_read_it(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_runsc(layout)
    docker(tmp_path, {"runc": {"path": "runc"}})
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    reloaded: list[bool] = []
    monkeypatch.setattr("spade_cluster.gvisor._reload_docker", lambda: reloaded.append(True))
    assert "now" in register_with_docker(layout)
    assert installed_runsc(layout).with_name("words").read_text() == "install --runtime=runsc -- --platform=systrap\n"
    assert reloaded == [True]


def test_registering_needs_root_and_says_what_to_do(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(tmp_path, {})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match="needs root"):
        register_with_docker(layout)
