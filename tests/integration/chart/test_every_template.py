"""Whatever the values, a real API server takes every object of the chart as it is; and no template is left out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.integration.chart.conftest import RESTRICTED, namespace
from tests.support.api_server import ApiServer
from tests.support.helm import KUBE_VERSION, ROOT, helm

VALUES = sorted((ROOT / "tests" / "data" / "values").glob("*.yaml"))
MONITORING_CRDS = ROOT / "tests" / "data" / "crds" / "monitoring.yaml"
NAMESPACE = "trial-system"
SOURCE = re.compile(r"^# Source: spade/(\S+)$", re.MULTILINE)


def rendered(values: Path) -> str:
    arguments = ("template", "trial", ".", "--namespace", NAMESPACE, "--kube-version", KUBE_VERSION)
    done = helm(*arguments, values=yaml.safe_load(values.read_text()))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def ready(api_server: ApiServer) -> ApiServer:
    """An API server with our kinds, those of the Prometheus Operator, and the namespaces that values name."""
    made = api_server.apply(namespace(NAMESPACE, RESTRICTED), namespace("runs", RESTRICTED))
    assert made.returncode == 0, made.stderr
    done = api_server.kubectl("apply", "-f", str(MONITORING_CRDS))
    assert done.returncode == 0, done.stderr
    api_server.await_kinds("-f", str(MONITORING_CRDS))
    return api_server


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_the_api_server_takes_all_of_it(ready: ApiServer, values: Path) -> None:
    objects: list[dict[str, Any]] = [item for item in yaml.safe_load_all(rendered(values)) if item]
    text = "\n---\n".join(map(json.dumps, objects))
    tried = ready.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)
    assert tried.returncode == 0, tried.stderr
    assert tried.stderr == "", "no warnings: neither of Pod Security nor of old versions"
    assert len(tried.stdout.splitlines()) == len(objects)


def test_every_template_is_tried_with_some_values() -> None:
    tried = {source for values in VALUES for source in SOURCE.findall(rendered(values))}
    folders = (ROOT / "templates", *(ROOT / "charts").glob("*/templates"))
    wanted = {str(path.relative_to(ROOT)) for folder in folders for path in folder.glob("*.yaml")}
    assert tried == wanted


def test_every_switch_is_tried_both_ways() -> None:
    """A value that turns something on or off has each of its values in some file."""
    told = [yaml.safe_load(path.read_text()) for path in VALUES]
    defaults = [
        yaml.safe_load((ROOT / "values.yaml").read_text()),
        {"monitoring": yaml.safe_load((ROOT / "charts/monitoring/values.yaml").read_text())},
    ]
    met: dict[str, set[bool]] = {}
    for tree in (*defaults, *told):
        for path, value in switches(tree):
            met.setdefault(path, set()).add(value)
    assert {path for path, values in met.items() if len(values) < 2} == set()


def switches(tree: dict[str, Any], path: str = "") -> list[tuple[str, bool]]:
    found = []
    for name, value in tree.items():
        if isinstance(value, bool):
            found.append((f"{path}{name}", value))
        elif isinstance(value, dict):
            found += switches(value, f"{path}{name}.")
    return found
