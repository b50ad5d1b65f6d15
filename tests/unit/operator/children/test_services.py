"""Names resolve to ready pods only, except where ranks must meet."""

from typing import Any

from tests.support.children import make_run, make_site, workloads

from spade_operator.children.services import services

SERVICES: dict[str, dict[str, Any]] = {item["metadata"]["name"]: item["spec"] for item in services(make_run().owner)}


def test_services_are_named_for_their_roles() -> None:
    assert list(SERVICES) == ["mini-sandbox", "mini-engine", "mini-learner", "mini-beacon"]


def test_only_the_learner_publishes_unready_pods() -> None:
    assert [name for name, spec in SERVICES.items() if spec["publishNotReadyAddresses"]] == ["mini-learner"]


def test_only_the_beacon_has_an_address_of_its_own() -> None:
    assert [name for name, spec in SERVICES.items() if spec.get("clusterIP") != "None"] == ["mini-beacon"]


def test_services_select_pods_that_listen_on_their_ports() -> None:
    built = workloads(make_run(), make_site())
    for name, spec in SERVICES.items():
        pod = built[name.removeprefix("mini-")]["spec"]["template"]
        assert spec["selector"].items() <= pod["metadata"]["labels"].items()
        listening = {port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in spec["ports"]} <= listening
