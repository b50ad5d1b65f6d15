"""What the values say about a run's pods is what its pods have."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.support.children import make_pool, make_run, pool_workloads, workloads
from tests.support.helm import helm, one, render, site_of

from spade_operator.children.resources import amount
from spade_operator.children.site import Rdma

OBJECTS = render()
DIGEST = f"@sha256:{'0' * 64}"
VALUES: dict[str, Any] = {
    "images": {name: f"registry.example.com/{name}{DIGEST}" for name in ("operator", "sandbox", "worker", "trainer")},
    "imagePullSecrets": ["registry"],
    "proxy": {"http": "http://192.0.2.1:3128", "https": "http://192.0.2.1:3128", "noProxy": [".example.com"]},
    "caBundle": {"configMap": "roots"},
    "mesh": {"optOut": "All"},
    "runPods": {"labels": {"team": "platform"}, "annotations": {"example.com/bill": "17"}},
}


def pods(objects: list[dict[str, Any]], folder: Path) -> dict[str, dict[str, Any]]:
    """The pod templates of a run's and a pool's workloads, as an operator of these objects makes them."""
    site = site_of(objects, folder)
    found = {**pool_workloads(make_pool(), site), **workloads(make_run(), site)}
    return {word: manifest["spec"]["template"] for word, manifest in found.items()}


def test_every_container_fits_under_a_quota(tmp_path: Path) -> None:
    operator = one(OBJECTS, "Deployment")["spec"]["template"]
    for word, template in {**pods(OBJECTS, tmp_path), "operator": operator}.items():
        assert "initContainers" not in template["spec"], word
        for container in template["spec"]["containers"]:
            resources = container["resources"]
            assert {"cpu", "memory"} <= resources["requests"].keys(), word
            assert amount(resources["limits"]["memory"]) >= amount(resources["requests"]["memory"]) > Decimal(0), word


def test_values_reach_the_pods_of_runs(tmp_path: Path) -> None:
    for word, template in pods(render(VALUES), tmp_path).items():
        metadata, spec = template["metadata"], template["spec"]
        (container,) = spec["containers"]
        names = {item["name"]: item["value"] for item in container["env"]}
        closed = word in ("sandbox", "beacon")
        assert container["image"].endswith(DIGEST), word
        assert spec["imagePullSecrets"] == [{"name": "registry"}], word
        assert metadata["labels"]["team"] == "platform", word
        assert metadata["labels"]["sidecar.istio.io/inject"] == "false", word
        assert metadata["annotations"]["example.com/bill"] == "17", word
        assert ("HTTPS_PROXY" in names, "SSL_CERT_FILE" in names) == (not closed, not closed), word
        assert closed or names["NO_PROXY"].endswith(".cluster.local,.example.com"), word
        assert any(volume["name"] == "ca" for volume in spec["volumes"]) is not closed, word


def test_the_operators_own_pod_uses_the_private_registry_too() -> None:
    spec = one(render(VALUES), "Deployment")["spec"]["template"]["spec"]
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["containers"][0]["image"] == f"registry.example.com/operator{DIGEST}"


def test_nothing_is_added_unless_asked_for_but_the_word_to_meshes(tmp_path: Path) -> None:
    for word, template in pods(OBJECTS, tmp_path).items():
        names = {item["name"] for item in template["spec"]["containers"][0]["env"]}
        assert not {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE"} & names, word
        assert "imagePullSecrets" not in template["spec"], word
        assert ("sidecar.istio.io/inject" in template["metadata"]["labels"]) is (word in ("sandbox", "beacon")), word


def test_rdma_is_off_unless_the_values_allow_it(tmp_path: Path) -> None:
    assert site_of(OBJECTS, tmp_path).rdma == Rdma()
    values = {"rdma": {"resources": ["rdma/hca"], "hostNetworkCidrs": ["192.0.2.0/24"]}}
    allowed = Rdma(resources=("rdma/hca",), host_network_cidrs=("192.0.2.0/24",))
    assert site_of(render(values), tmp_path).rdma == allowed


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"proxy": {"http": "http://user:password@192.0.2.1"}}, "http"),
        ({"proxy": {"http": "192.0.2.1:3128"}}, "http"),
        ({"proxy": {"noProxy": ["a,b"]}}, "noProxy"),
        ({"caBundle": {"configMap": "Not A Name"}}, "configMap"),
        ({"mesh": {"optOut": "Sometimes"}}, "optOut"),
        ({"rdma": {"resources": ["hca"]}}, "resources"),
        ({"rdma": {"hostNetworkCidrs": ["anywhere"]}}, "hostNetworkCidrs"),
        ({"runPods": {"labels": {"spade.dev/role": "engine"}}}, "spade.dev/role"),
        ({"runPods": {"annotations": {"more.spade.dev/x": "y"}}}, "more.spade.dev/x"),
        ({"runPods": {"labels": {"app.kubernetes.io/name": "x"}}}, "app.kubernetes.io/name"),
        ({"runPods": {"labels": {"team": "no spaces"}}}, "team"),
        ({"runPods": {"annotations": {"dev.gvisor.flag.network": "host"}}}, "dev.gvisor.flag.network"),
        ({"runPods": {"tolerations": []}}, "tolerations"),
    ],
)
def test_wrong_values_are_refused_by_name(values: dict[str, Any], where: str) -> None:
    done = helm("template", "spade", ".", "--kube-version", "1.34.0", values=values)
    assert done.returncode != 0
    assert where in done.stderr
