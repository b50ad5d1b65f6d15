"""The installation's proxies, certificates, marks and registries reach the pods that they are for, and no others."""

from typing import Any

import pytest
from tests.support.children import make_pool, make_run, make_site, pool_workloads, workloads

from spade_operator.children.manifests import Manifest
from spade_operator.children.site import Site

CLIENTS = ("prepare", "engine", "learner", "design", "play", "verify")
CLOSED = ("sandbox", "beacon")
EVERY = (*CLIENTS, *CLOSED)
PROXIES = {"http": "http://192.0.2.1:3128", "https": "http://192.0.2.2:3128", "no_proxy": (".example.com", ".svc")}
DIRECT = "localhost,127.0.0.1,::1,.svc,.cluster.local,.example.com"


def templates(site: Site) -> dict[str, dict[str, Any]]:
    """Pod templates of a run's and a pool's workloads."""
    found: dict[str, Manifest] = {**pool_workloads(make_pool(), site), **workloads(make_run(), site)}
    return {word: manifest["spec"]["template"] for word, manifest in found.items()}


def environment(template: dict[str, Any]) -> dict[str, str]:
    (container,) = template["spec"]["containers"]
    return {item["name"]: item["value"] for item in container["env"]}


@pytest.mark.parametrize("word", CLIENTS)
def test_clients_go_out_by_the_proxy_and_stay_in_the_cluster_without(word: str) -> None:
    found = environment(templates(make_site(proxy=PROXIES))[word])
    for name, value in (("HTTP_PROXY", PROXIES["http"]), ("HTTPS_PROXY", PROXIES["https"]), ("NO_PROXY", DIRECT)):
        assert found[name] == found[name.lower()] == value


@pytest.mark.parametrize("word", CLIENTS)
def test_one_proxy_is_enough_and_none_is_none(word: str) -> None:
    one = environment(templates(make_site(proxy={"https": "http://192.0.2.2:3128"}))[word])
    assert "HTTP_PROXY" not in one
    assert one["HTTPS_PROXY"] == "http://192.0.2.2:3128"
    none = environment(templates(make_site(proxy={"no_proxy": ("x",)}))[word])
    assert [name for name in none if "proxy" in name.lower()] == []


@pytest.mark.parametrize("word", CLIENTS)
def test_clients_trust_the_installations_certificates(word: str) -> None:
    template = templates(make_site(ca_bundle={"config_map": "roots", "key": "bundle.pem"}))[word]
    found = environment(template)
    assert found["SSL_CERT_FILE"] == found["REQUESTS_CA_BUNDLE"] == "/etc/spade/ca/ca.crt"
    (container,) = template["spec"]["containers"]
    assert {"name": "ca", "mountPath": "/etc/spade/ca", "readOnly": True} in container["volumeMounts"]
    source = {"name": "roots", "items": [{"key": "bundle.pem", "path": "ca.crt"}], "defaultMode": 0o444}
    assert {"name": "ca", "configMap": source} in template["spec"]["volumes"]


@pytest.mark.parametrize("word", CLOSED)
def test_what_has_no_way_out_gets_neither(word: str) -> None:
    open_to_all = make_site(proxy=PROXIES, ca_bundle={"config_map": "roots"})
    assert templates(open_to_all)[word] == templates(make_site())[word]


@pytest.mark.parametrize(
    ("chosen", "words"), [("Sandboxes", CLOSED), ("All", EVERY), ("None", ())], ids=["Sandboxes", "All", "None"]
)
def test_meshes_are_kept_out_of_the_pods_that_are_chosen(chosen: str, words: tuple[str, ...]) -> None:
    for word, template in templates(make_site(mesh={"opt_out": chosen})).items():
        labels, annotations = template["metadata"]["labels"], template["metadata"].get("annotations", {})
        out = word in words
        assert (labels.get("sidecar.istio.io/inject") == "false") is out
        assert (labels.get("istio.io/dataplane-mode") == "none") is out
        assert (annotations.get("sidecar.istio.io/inject") == "false") is out
        assert (annotations.get("linkerd.io/inject") == "disabled") is out


def test_sidecars_stay_out_of_sandboxes_unless_asked_for() -> None:
    assert make_site().mesh.opt_out == "Sandboxes"


@pytest.mark.parametrize("word", EVERY)
def test_the_installations_marks_win_over_a_runs_and_lose_to_the_operators(word: str) -> None:
    marks = {"labels": {"team": "platform"}, "annotations": {"example.com/bill": "17"}}
    pod = {"labels": {"team": "rl"}, "annotations": {"example.com/bill": "18"}}
    site = make_site(run_pods=marks)
    run = make_run(**{role: {"pod": pod} for role in ("workers", "engine", "learner")})
    found = {**pool_workloads(make_pool(pod=pod), site), **workloads(run, site)}[word]["spec"]["template"]["metadata"]
    assert found["labels"]["team"] == "platform"
    assert found["annotations"]["example.com/bill"] == "17"
    forged = make_site(run_pods={"labels": {"spade.dev/role": "other"}, "annotations": {"spade.dev/task": "{}"}})
    plain, marked = (templates(one)[word]["metadata"] for one in (make_site(), forged))
    for part in ("labels", "annotations"):
        assert plain.get(part, {}).items() <= marked.get(part, {}).items()


@pytest.mark.parametrize("word", EVERY)
def test_private_registries_and_digests_reach_every_pod(word: str) -> None:
    digest = f"@sha256:{'0' * 64}"
    images = {name: f"registry.example.com:5000/spade/{name}{digest}" for name in ("sandbox", "worker", "trainer")}
    spec = templates(make_site(image_pull_secrets=("registry", "mirror"), images=images))[word]["spec"]
    assert spec["imagePullSecrets"] == [{"name": "registry"}, {"name": "mirror"}]
    assert [container["image"] in images.values() for container in spec["containers"]] == [True]
