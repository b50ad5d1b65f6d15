"""The site file is read strictly, and the probe's targets are addresses when the operator starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from spade_contracts.errors import InvalidInput
from spade_contracts.isolation import TargetKind
from spade_operator.children.site import load_site


def write_site(folder: Path, **settings: Any) -> Path:
    """A site file with its key beside it."""
    key = folder / "key"
    key.write_text("k" * 64 + "\n")
    content = {
        "images": {"sandbox": "s", "worker": "w", "trainer": "t"},
        "sandboxRuntimeClass": "gvisor",
        "operatorNamespace": "spade-system",
        "operatorLabels": {"app": "operator"},
        "resources": {},
        "targets": [],
        "installationKeyFile": str(key),
        **settings,
    }
    path = folder / "site.json"
    path.write_text(json.dumps(content))
    return path


def test_the_key_is_read_and_stays_out_of_sight(tmp_path: Path) -> None:
    site = load_site(write_site(tmp_path), {})
    assert site.installation_key == b"k" * 64
    assert "kkk" not in repr(site)
    assert "kkk" not in site.model_dump_json()


def test_a_short_key_is_refused(tmp_path: Path) -> None:
    path = write_site(tmp_path)
    (tmp_path / "key").write_text("short")
    with pytest.raises(InvalidInput, match="at least 32 random bytes"):
        load_site(path, {})


def test_a_missing_key_names_its_secret(tmp_path: Path) -> None:
    path = write_site(tmp_path)
    (tmp_path / "key").unlink()
    with pytest.raises(InvalidInput, match="Mount the installation key's Secret"):
        load_site(path, {})


def test_an_unknown_setting_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="sandboxImage"):
        load_site(write_site(tmp_path, sandboxImage="x"), {})


def test_empty_hosts_are_discovered(tmp_path: Path) -> None:
    targets = [
        {"kind": "api-server", "port": 443},
        {"kind": "node", "port": 10250},
        {"kind": "dns", "port": 53, "protocol": "udp"},
        {"kind": "outside", "host": "192.0.2.1", "port": 443},
    ]
    resolv_conf = tmp_path / "resolv.conf"
    resolv_conf.write_text("search svc\nnameserver 10.96.0.10\nnameserver 10.96.0.11\n")
    environment = {
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "KUBERNETES_SERVICE_PORT": "6443",
        "SPADE_NODE_ADDRESS": "172.31.255.1",
    }
    site = load_site(write_site(tmp_path, targets=targets), environment, resolv_conf)
    assert [(target.kind, str(target.host), target.port, target.protocol) for target in site.probe_targets] == [
        (TargetKind.API_SERVER, "10.96.0.1", 6443, "tcp"),
        (TargetKind.NODE, "172.31.255.1", 10250, "tcp"),
        (TargetKind.DNS, "10.96.0.10", 53, "udp"),
        (TargetKind.OUTSIDE, "192.0.2.1", 443, "tcp"),
    ]


@pytest.mark.parametrize("kind", ["api-server", "node", "dns", "metadata"])
def test_a_host_that_cannot_be_discovered_must_be_written(tmp_path: Path, kind: str) -> None:
    path = write_site(tmp_path, targets=[{"kind": kind, "port": 443}])
    with pytest.raises(InvalidInput, match="Write an address"):
        load_site(path, {}, tmp_path / "none")


def test_a_name_is_no_target(tmp_path: Path) -> None:
    path = write_site(tmp_path, targets=[{"kind": "outside", "host": "example.org", "port": 443}])
    with pytest.raises(InvalidInput, match="must be an address"):
        load_site(path, {})
