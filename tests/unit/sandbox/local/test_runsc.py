"""The bundle around this Python: read-only, without a network, a capability or a file that Python does not need."""

import json
import os
import sys
from pathlib import Path

import pytest

from spade_sandbox.local import runsc
from spade_sandbox.local.launch import BackendUnusable, package_folders


def executable(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_bundle_grants_no_network_no_capability_and_no_writable_file_of_this_machine(tmp_path: Path) -> None:
    bundle = json.loads(json.dumps(runsc.bundle(tmp_path, "secret", 4)))
    process = bundle["process"]
    assert process["user"] == {"uid": runsc.UNPRIVILEGED, "gid": runsc.UNPRIVILEGED}
    assert process["noNewPrivileges"]
    assert not any(process["capabilities"].values())
    assert bundle["root"] == {"path": str(tmp_path), "readonly": True}
    assert {"type": "network"} in bundle["linux"]["namespaces"]
    binds = [mount for mount in bundle["mounts"] if mount["type"] == "bind"]
    assert binds
    assert all("ro" in mount["options"] for mount in binds)


def test_home_of_the_user_is_mounted_only_as_far_as_python_lies_in_it() -> None:
    needed = runsc.needed()
    home = Path.home().resolve()
    assert home not in needed
    assert Path("/") not in needed
    assert Path("/etc") not in needed


def test_mounts_hold_this_python_and_our_packages_and_none_lies_in_another() -> None:
    needed = runsc.needed()
    for path in (Path(sys.executable), Path(os.__file__), *package_folders()):
        assert any(place == path or place in path.parents for place in needed), path
    assert not any(one in other.parents for one in needed for other in needed)


def test_every_link_between_python_and_its_prefix_is_followed(tmp_path: Path) -> None:
    for folder in ("real/bin", "other/bin", "venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    executable(tmp_path / "real/bin/python3.11")
    (tmp_path / "other/bin/python3").symlink_to("../../real/bin/python3.11")
    (tmp_path / "venv/bin/python").symlink_to(tmp_path / "other/bin/python3")
    found = runsc._prefixes(tmp_path / "venv/bin/python")
    assert found == {tmp_path / name for name in ("venv", "other", "real")}


def test_link_at_the_root_stays_a_link(tmp_path: Path) -> None:
    runsc.bundle(tmp_path, "secret", 1)
    for name in ("lib", "lib64"):
        place = Path("/") / name
        if place.is_symlink():
            assert (tmp_path / name).readlink() == place.readlink()


def test_runsc_is_the_one_named_then_the_one_in_path_then_the_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = executable(tmp_path / "named")
    (tmp_path / "bin").mkdir()
    on_path = executable(tmp_path / "bin" / "runsc")
    (tmp_path / "home" / "gvisor").mkdir(parents=True)
    installed = executable(tmp_path / "home" / "gvisor" / "runsc")
    monkeypatch.setenv("SPADE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv(runsc.NAMED, str(named))
    assert runsc.find_runsc() == named
    monkeypatch.delenv(runsc.NAMED)
    assert runsc.find_runsc() == on_path
    on_path.unlink()
    assert runsc.find_runsc() == installed


@pytest.mark.parametrize("named", ["", "/nowhere/runsc"])
def test_missing_runsc_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("SPADE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(runsc.NAMED, named)
    with pytest.raises(BackendUnusable, match="make gvisor"):
        runsc.find_runsc()
