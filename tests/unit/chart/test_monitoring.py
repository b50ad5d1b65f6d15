"""With monitoring the chart makes what the Prometheus Operator reads: the rules as they are tested, and scrapes."""

from pathlib import Path
from typing import Any

import yaml
from tests.support.children import make_run, workloads
from tests.support.helm import helm, one, render
from tests.support.prometheus import RULES
from tests.unit.chart.test_templates import site_of

from spade_contracts.labels import Role
from spade_contracts.metrics import METRICS

VALUES: dict[str, Any] = {
    "monitoring": {
        "enabled": True,
        "labels": {"release": "prometheus"},
        "rules": {"alertLabels": {"team": "training"}, "runbooks": "https://example.org/runbooks/"},
    }
}
OBJECTS = render(VALUES)
TRIED = yaml.safe_load(RULES.read_text())


def monitors() -> dict[str, dict[str, Any]]:
    return {item["metadata"]["name"]: item["spec"] for item in OBJECTS if item["kind"] == "PodMonitor"}


def test_nothing_of_it_is_made_unless_asked_for() -> None:
    assert {item["kind"] for item in render()} & {"PodMonitor", "PrometheusRule"} == set()


def test_the_rules_are_those_that_promtool_tries() -> None:
    made = one(OBJECTS, "PrometheusRule")["spec"]["groups"]
    told = [rule for group in made for rule in group["rules"]]
    tried = [rule for group in TRIED["groups"] for rule in group["rules"]]
    assert [(rule["alert"], rule["expr"], rule.get("for")) for rule in told] == [
        (rule["alert"], rule["expr"], rule.get("for")) for rule in tried
    ]
    for rule, source in zip(told, tried, strict=True):
        page = source["annotations"].pop("runbook")
        assert rule["annotations"] == {**source["annotations"], "runbook_url": f"https://example.org/runbooks/{page}"}
        assert rule["labels"] == {**source["labels"], "team": "training"}


def test_prometheus_finds_them_by_the_labels_asked_for() -> None:
    for item in OBJECTS:
        if item["kind"] in {"PodMonitor", "PrometheusRule"}:
            assert item["metadata"]["labels"]["release"] == "prometheus"


def test_the_operators_pods_are_scraped_where_they_serve() -> None:
    monitor = monitors()["spade-operator"]
    pod = one(OBJECTS, "Deployment")["spec"]["template"]
    assert monitor["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    names = {port["name"] for container in pod["spec"]["containers"] for port in container["ports"]}
    assert {endpoint["port"] for endpoint in monitor["podMetricsEndpoints"]} <= names
    assert all(endpoint["honorLabels"] for endpoint in monitor["podMetricsEndpoints"]), "namespace is the run's"


def test_every_role_that_exports_metrics_is_scraped_at_its_status_port_and_no_sandbox_is(tmp_path: Path) -> None:
    monitor = monitors()["spade-runs"]
    (selector,) = monitor["selector"]["matchExpressions"]
    scraped = {endpoint["port"] for endpoint in monitor["podMetricsEndpoints"]}
    exporting = {spec.exporter for spec in METRICS} - {"operator"}
    assert set(selector["values"]) == exporting
    assert monitor["namespaceSelector"] == {"any": True}
    site = site_of(render(), tmp_path)
    apart, together = make_run(name="spade"), make_run(name="spade", placement="Colocated")
    made = [*workloads(apart, site).items(), *workloads(together, site).items()]
    for role, manifest in made:
        template = manifest["spec"]["template"]
        labels = template["metadata"]["labels"]
        if labels[selector["key"]] in exporting:
            for container in template["spec"]["containers"]:
                assert scraped & {port["name"] for port in container["ports"]}, (role, container["name"])
        assert Role.SANDBOX not in selector["values"]


def test_a_service_monitor_takes_the_place_of_the_operators_pod_monitor() -> None:
    objects = render({"monitoring": {"enabled": True, "serviceMonitor": {"create": True}}})
    monitor, service = one(objects, "ServiceMonitor")["spec"], one(objects, "Service")
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["endpoints"]
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert endpoint["honorLabels"], "namespace is the run's"
    assert [item["metadata"]["name"] for item in objects if item["kind"] == "PodMonitor"] == ["spade-runs"]


def test_misspelt_values_are_refused() -> None:
    done = helm("template", "spade", ".", values={"monitoring": {"enabled": True, "podMonitor": {}}})
    assert done.returncode != 0
    assert "podMonitor" in done.stderr
