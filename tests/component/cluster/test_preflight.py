"""What a machine lacks is said before anything is started, with the remedy."""

import os
import socket
from pathlib import Path

import pytest
from spade_cluster import preflight
from spade_cluster.binaries import parse_go_version
from spade_cluster.errors import ClusterError
from spade_cluster.preflight import CAPABILITIES, check_ports, check_space, missing_capabilities, needed_gigabytes
from spade_cluster.settings import Layout


@pytest.mark.parametrize("name", sorted(CAPABILITIES))
def test_each_missing_capability_is_named(name: str) -> None:
    every = (1 << 64) - 1
    status = f"Name:\tx\nCapEff:\t{every & ~(1 << CAPABILITIES[name]):016x}\n"
    assert missing_capabilities(status) == [name]


def test_a_machine_without_sys_resource_is_good_enough() -> None:
    every = (1 << 41) - 1
    assert missing_capabilities(f"CapEff:\t{every & ~(1 << 24):x}\n") == []


def test_cold_build_needs_more_space_than_a_filled_cluster() -> None:
    assert needed_gigabytes("programs", images_exist=False, override=None) == 50
    assert needed_gigabytes("programs", images_exist=True, override=None) == 12
    assert needed_gigabytes("images", images_exist=True, override=None) == 30
    assert needed_gigabytes("programs", images_exist=False, override="20") == 20


def test_short_space_names_folder_and_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPADE_MIN_FREE_GB", "1000000")
    with pytest.raises(ClusterError, match=rf"{tmp_path} has \d+ GB free.*SPADE_HOME"):
        check_space(Layout(tmp_path), "start")


def test_port_in_use_is_reported_with_component_and_program(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setitem(preflight.PORTS, "etcd", (("127.0.0.1", port),))
        with pytest.raises(
            ClusterError, match=rf"port {port} on 127.0.0.1, which etcd needs, is in use by .*{os.getpid()}"
        ):
            check_ports(["etcd"])
    check_ports(["etcd"])


@pytest.mark.parametrize(
    ("text", "version"), [("go1.26.8\n", (1, 26, 8)), ("go1.25", (1, 25, 0)), ("go1.27rc1", (1, 27, 0))]
)
def test_go_versions_are_read(text: str, version: tuple[int, int, int]) -> None:
    assert parse_go_version(text) == version


def test_unreadable_go_version_is_refused() -> None:
    with pytest.raises(ClusterError, match="devel"):
        parse_go_version("devel +abc")
