"""Sizes that no disk has are refused, and what an older run has of them does not keep it from being suspended."""

from typing import Any

from tests.support.api_server import ApiServer

WRONG: tuple[Any, ...] = (0, "0", "5m", "1Ki", "1048575", "1025Ti", "9" * 30 + "Ti")


def run(name: str, **storage: Any) -> dict[str, Any]:
    spec = {"model": {"uri": "package:tiny"}, "rollouts": 4, "storage": storage}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "spade.dev/v1alpha1", "kind": "SpadeRun", "metadata": meta, "spec": spec}


def test_sizes_that_no_disk_has_are_refused_with_words(api_server: ApiServer) -> None:
    objects = [run(f"size{n}", **{field: size}) for n, size in enumerate(WRONG) for field in ("size", "stagingSize")]
    for said in api_server.refusals(*objects, verb=("create",)):
        assert "a size lies between 1Mi and 1Pi: write one such as 10Gi" in said


def test_sizes_are_taken_up_to_their_bounds(api_server: ApiServer) -> None:
    sizes = (2**20, "1Mi", "1048576", "0.5Gi", "1024Ti")
    applied = api_server.apply(*(run(f"sized{n}", size=size, stagingSize=size) for n, size in enumerate(sizes)))
    assert applied.returncode == 0, applied.stderr
