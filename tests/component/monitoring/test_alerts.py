"""The alerts as Prometheus itself reads them: each fires and is silent where it must, and has a runbook."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.helm import ROOT
from tests.support.prometheus import RULES, prometheus_program

from spade_contracts.metrics import METRICS

CASES = Path(__file__).with_name("alerts.yaml")
SECONDS = 300


def alerts() -> list[dict[str, Any]]:
    """All alerts of the rule file."""
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def promtool(*words: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run promtool to its end."""
    command = [prometheus_program("promtool"), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_prometheus_reads_the_rules() -> None:
    done = promtool("check", "rules", RULES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_fires_and_is_silent_as_told(tmp_path: Path) -> None:
    shutil.copy(RULES, tmp_path)
    shutil.copy(CASES, tmp_path)
    done = promtool("test", "rules", CASES.name, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_told_to_fire_and_to_be_silent() -> None:
    told = [case for test in yaml.safe_load(CASES.read_text())["tests"] for case in test["alert_rule_test"]]
    for alert in alerts():
        outcomes = {bool(case["exp_alerts"]) for case in told if case["alertname"] == alert["alert"]}
        assert outcomes == {True, False}, alert["alert"]


def test_each_alert_asks_for_metrics_that_are_exported() -> None:
    known = {spec.name for spec in METRICS}
    for alert in alerts():
        asked = set(re.findall(r"\bspade_\w+", alert["expr"]))
        assert asked
        assert asked <= known, alert["alert"]


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: str(alert["alert"]))
def test_each_alert_has_a_runbook_that_names_it(alert: dict[str, Any]) -> None:
    page = ROOT / "docs" / "runbooks" / alert["annotations"]["runbook"]
    assert alert["alert"] in page.read_text()
