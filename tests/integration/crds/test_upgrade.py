"""An installation with older CRDs is brought up to date as docs/upgrade.md says, with its objects as they were."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.api_server import ApiServer, running_api_server
from tests.support.helm import ROOT, helm

OLDER = ROOT / "tests" / "data" / "crds" / "first.yaml"
PAGE = ROOT / "docs" / "upgrade.md"
CHART = ("Chart.yaml", "values.yaml", "values.schema.json", "templates", "charts")
NAMESPACE, RELEASE = "spade-system", "spade"
KINDS = ("spaderuns", "envbatches", "rolloutjobs")
Object = dict[str, Any]
MOMENT = "2026-11-01T00:00:00Z"
PLAIN = {"model": {"uri": "package:tiny"}, "rollouts": 4, "environments": {"perCycle": 6, "cycleLength": 2}}
ODD_ARGS = {"trust-remote-code": "true"}
"""Refused by now, as the name and the claim are, and taken when these objects were made."""


ODD = "odd-batch"


def old(kind: str, name: str, spec: Object) -> Object:
    return {
        "apiVersion": "spade.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "runs"},
        "spec": spec,
    }


OLD = (
    old("SpadeRun", "plain", PLAIN),
    old(
        "SpadeRun",
        ODD,
        {
            **PLAIN,
            "storage": {"claimName": "Old_Claim", "size": "0"},
            "engine": {"args": ODD_ARGS},
            "workers": {"pod": {"resources": {"requests": {"foo": "1"}}, "nodeSelector": {"k" * 64: "x"}}},
        },
    ),
    old("EnvBatch", "plain-c0000", {"run": "plain", "cycle": 0, "policyVersion": 0, "workers": 1}),
    old("RolloutJob", "plain-r0000", {"run": "plain", "rollout": 0, "cycle": 0, "policyVersion": 0, "workers": 1}),
)


def done(server: ApiServer, *arguments: str, stdin: str | None = None) -> str:
    result = server.kubectl(*arguments, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return result.stdout


def specs(server: ApiServer) -> dict[str, Object]:
    """Spec and status of every object of ours, by kind and name."""
    items = json.loads(done(server, "get", ",".join(KINDS), "-n", "runs", "-o", "json"))["items"]
    return {f"{o['kind']}/{o['metadata']['name']}": {"spec": o["spec"], "status": o.get("status")} for o in items}


def with_helm(server: ApiServer, *arguments: str | Path) -> None:
    result = helm(*arguments, "--namespace", NAMESPACE, "--kubeconfig", server.kubeconfig)
    assert result.returncode == 0, result.stderr


def installation_key(server: ApiServer) -> str:
    return str(server.get("secret", f"{RELEASE}-installation-key", NAMESPACE)["data"]["key"])


def commands() -> list[list[str]]:
    """The lines of the page's first block, which do the upgrade."""
    (block, *_) = re.findall(r"```\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line.split("#")[0].split() for line in block.splitlines() if line.strip()]


@dataclass(frozen=True)
class Upgraded:
    """An installation after its upgrade, and what there was before."""

    server: ApiServer
    before: dict[str, Object]
    """Objects of ours when the old CRDs held."""
    after: dict[str, Object]
    key: str
    """The installation key."""


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """The chart installed with older CRDs, objects made, and both upgraded."""
    folder = tmp_path_factory.mktemp("upgrade")
    chart = folder / "chart"
    (chart / "crds").mkdir(parents=True)
    shutil.copy(OLDER, chart / "crds")
    for name in CHART:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, chart / name)
    with running_api_server(folder / "server") as server:
        with_helm(server, "install", RELEASE, chart, "--create-namespace")
        server.await_kinds("crd", "--all")
        done(server, "create", "namespace", "runs")
        done(server, "apply", "-f", "-", stdin="\n---\n".join(map(json.dumps, OLD)))
        mark = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "observedGeneration": 1}
        status = {"status": {"rollout": 2, "conditions": [{**mark, "lastTransitionTime": MOMENT}]}}
        for name in ("plain", ODD):
            patch("status", server, name, status)
        before, key = specs(server), installation_key(server)
        for command in commands():
            if command[0] == "kubectl":
                done(server, *(str(ROOT / "crds") if word == "crds/" else word for word in command[1:]))
            else:
                plain = [word for word in command[1:] if word not in ("--values", "my-values.yaml")]
                with_helm(server, *plain[: plain.index("--namespace")])
        yield Upgraded(server, before, specs(server), key)


def patch(part: str, server: ApiServer, name: str, content: Object) -> str:
    """What the server says against a merge patch; '' when it takes it, with or without a warning."""
    where = (f"--subresource={part}",) if part else ()
    arguments = ("patch", "spaderun", name, "-n", "runs", "--type=merge", *where, "-p", json.dumps(content))
    answer = server.kubectl(*arguments)
    return answer.stderr if answer.returncode else ""


def kept(after: Any, before: Any) -> Any:
    """Of what is there now, what was there before."""
    if isinstance(after, dict) and isinstance(before, dict):
        return {key: kept(after[key], value) for key, value in before.items() if key in after}
    return after


def test_the_page_upgrades_crds_before_the_chart() -> None:
    assert [command[:2] for command in commands()] == [["kubectl", "apply"], ["kubectl", "wait"], ["helm", "upgrade"]]


def test_objects_are_as_they_were(upgraded: Upgraded) -> None:
    assert len(upgraded.before) == len(OLD)
    assert kept(upgraded.after, upgraded.before) == upgraded.before, "defaults of new fields may come, nothing may go"


def test_the_schemas_are_the_new_ones_and_stay_so_over_the_charts_upgrade(
    upgraded: Upgraded,
) -> None:
    server = upgraded.server
    for path in sorted((ROOT / "crds").glob("*.yaml")):
        wanted = yaml.safe_load(path.read_text())
        there = json.loads(done(server, "get", "crd", wanted["metadata"]["name"], "-o", "json"))
        (new,), (found,) = wanted["spec"]["versions"], there["spec"]["versions"]
        assert found["schema"] == new["schema"], path.name
        assert there["status"]["storedVersions"] == ["v1alpha1"]


def test_an_object_that_new_rules_refuse_can_still_be_changed_elsewhere(
    upgraded: Upgraded,
) -> None:
    server = upgraded.server
    assert patch("", server, ODD, {"spec": {"suspend": "Now", "rollouts": 5}}) == ""
    assert patch("", server, ODD, {"metadata": {"labels": {"team": "games"}}}) == ""
    assert patch("status", server, ODD, {"status": {"rollout": 3}}) == ""


def test_what_new_rules_refuse_is_refused_in_new_objects_and_new_values(
    upgraded: Upgraded,
) -> None:
    server = upgraded.server
    for spec in ({**PLAIN, "storage": {"claimName": "Old_Claim"}}, {**PLAIN, "engine": {"args": ODD_ARGS}}):
        refused = server.apply(old("SpadeRun", "fresh", spec))
        assert refused.returncode != 0
        assert "spec." in refused.stderr
    assert "may change speed" in patch("", server, ODD, {"spec": {"engine": {"args": {"worker-cls": "x"}}}})


def test_new_fields_are_kept_in_new_objects(upgraded: Upgraded) -> None:
    server = upgraded.server
    key = {"key": "gpu", "operator": "Exists"}
    made = server.apply(old("SpadeRun", "new", {**PLAIN, "learner": {"pod": {"tolerations": [key]}}}))
    assert made.returncode == 0, made.stderr
    (kept,) = specs(server)["SpadeRun/new"]["spec"]["learner"]["pod"]["tolerations"]
    assert kept.items() >= key.items()


def test_the_key_is_the_one_that_running_pods_have(upgraded: Upgraded) -> None:
    assert installation_key(upgraded.server) == upgraded.key


def test_a_lease_that_an_operator_had_to_make_anew_is_left_to_it(upgraded: Upgraded) -> None:
    server, name = upgraded.server, f"{RELEASE}-operator-lease"
    assert server.get("lease", name, NAMESPACE)["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
    done(server, "delete", "lease", name, "-n", NAMESPACE)
    anew = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": NAMESPACE}}
    assert server.apply(anew).returncode == 0
    with_helm(server, "upgrade", RELEASE, ROOT)
    with_helm(server, "upgrade", RELEASE, ROOT)


def test_crds_and_objects_are_all_that_the_removed_chart_leaves(upgraded: Upgraded) -> None:
    server = upgraded.server
    # No controller would run the hook's Job here; tests/e2e/test_uninstall.py does.
    with_helm(server, "uninstall", RELEASE, "--no-hooks")
    kinds = done(server, "api-resources", "--verbs=list", "-o", "name").split()
    mine = [kind for kind in kinds if not kind.startswith(("events", "componentstatuses"))]
    left = done(server, "get", ",".join(mine), "-A", "-l", "app.kubernetes.io/name=spade", "-o", "name")
    assert left == ""
    assert upgraded.before.keys() <= specs(server).keys()
