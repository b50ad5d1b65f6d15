"""Volumes are local folders; only a released volume of ours is offered again."""

from pathlib import Path

from spade_cluster.programs import outside_name_servers
from spade_cluster.volumes import released, volume


def claimed(name: str, phase: str, storage_class: str = "spade-local") -> dict[str, object]:
    """A PersistentVolume as the API server returns it."""
    return {"metadata": {"name": name}, "spec": {"storageClassName": storage_class}, "status": {"phase": phase}}


def test_bound_available_and_foreign_volumes_are_left_alone() -> None:
    volumes = [
        claimed("a", "Bound"),
        claimed("b", "Available"),
        claimed("c", "Released"),
        claimed("d", "Released", "x"),
    ]
    assert [one["metadata"]["name"] for one in released(volumes)] == ["c"]


def test_volume_stays_on_its_node_and_keeps_its_data() -> None:
    spec = volume("spade-local-0", Path("/data"))["spec"]
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert spec["local"] == {"path": "/data"}
    assert spec["nodeAffinity"]["required"]["nodeSelectorTerms"]


def test_name_servers_on_loopback_are_not_given_to_pods(tmp_path: Path) -> None:
    resolver = tmp_path / "resolv.conf"
    resolver.write_text("search x\nnameserver 127.0.0.53\nnameserver 192.0.2.1\nnameserver ::1\n")
    assert outside_name_servers(resolver) == ["192.0.2.1"]
