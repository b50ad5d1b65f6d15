"""The CRDs are structural, bounded where rules read them, and what the generator writes."""

import re
from typing import Any

import pytest
from tools.generate_crds import ROOT, generated

from spade_contracts.libraries import ALLOWED_LIBRARIES
from spade_contracts.resources.crd import CUSTOM_RESOURCES, CustomResource, definition, fields, schema, structural
from spade_contracts.resources.pod_rules import POD_RULES
from spade_contracts.resources.pods import PodSettings
from spade_contracts.resources.rules import METHOD_FIELDS, POD_FIELDS
from spade_contracts.verdicts import REASONS, Reason, Stage

BY_KIND = {resource.kind: resource for resource in CUSTOM_RESOURCES}
PARTS_OF_VERDICTS = ("Stages", "Reasons", "Libraries")
REFUSED_BY_KUBERNETES = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "title", "const", "patternProperties"}


@pytest.mark.parametrize("path", generated())
def test_generated_files_are_fresh(path: str) -> None:
    assert (ROOT / path).read_text() == generated()[path], f"{path} differs from the models; run `make crds`"


def test_the_page_on_verdicts_has_every_stage_reason_and_library() -> None:
    page = generated()["docs/verdicts.md"]
    stages, reasons, libraries = (page.split(f"## {title}\n")[1].split("\n## ")[0] for title in PARTS_OF_VERDICTS)
    assert re.findall(r"^\| `(\w+)` \|", stages, re.MULTILINE) == list(Stage)
    assert re.findall(r"^\| `(\w+)` \|", reasons, re.MULTILINE) == list(Reason)
    assert re.findall(r"`([\w.]+)`,?", libraries.split("\n\n")[1]) == list(ALLOWED_LIBRARIES)


def test_the_page_on_verdicts_names_the_reasons_of_a_stage_and_the_stages_of_a_reason() -> None:
    page = generated()["docs/verdicts.md"]
    (leaks,) = re.findall(r"^\| `leaks` .*$", page, re.MULTILINE)
    (duplicate,) = re.findall(r"^\| `duplicate` .*$", page, re.MULTILINE)
    assert all(f"`{reason}`" in leaks for reason in REASONS[Stage.LEAKS])
    assert duplicate.endswith("| `novelty` |")


def test_the_page_on_fields_has_those_of_pods_once() -> None:
    kinds, pods = generated()["docs/api.md"].split("## Pod settings\n")
    listed = re.findall(r"^\| `([\w.{}\[\]]+)` \|", pods, re.MULTILINE)
    assert listed == [path for path, _ in fields(structural(PodSettings)) if not path.endswith(("[]", "{}"))]
    assert re.findall(r"^\| `[\w.]*pod\.[\w.]*`", kinds, re.MULTILINE) == []
    assert kinds.count("[pod settings](#pod-settings)") == 6


def test_the_page_on_fields_has_every_rule_of_pods_once() -> None:
    _, pods = generated()["docs/api.md"].replace("\\*", "*").split("## Pod settings\n")
    messages = {rule.message for rules in POD_RULES.values() for rule in rules}
    assert {message for message in messages if pods.count(message) != 1} == set()


@pytest.mark.parametrize("kind", BY_KIND)
def test_schemas_are_structural(kind: str) -> None:
    for path, node in fields(schema(BY_KIND[kind])):
        if node.get("x-kubernetes-int-or-string"):
            continue
        assert not REFUSED_BY_KUBERNETES & node.keys(), path
        assert isinstance(node["type"], str), path
        assert not {"properties", "additionalProperties"} <= node.keys(), path


@pytest.mark.parametrize("kind", BY_KIND)
def test_every_string_list_and_map_has_a_maximum(kind: str) -> None:
    unbounded = [
        path for path, node in fields(schema(BY_KIND[kind])["properties"]["spec"], "spec") if not is_bounded(node)
    ]
    assert unbounded == []


def is_bounded(node: dict[str, Any]) -> bool:
    if node.get("x-kubernetes-int-or-string") or node.get("type") == "string":
        return "maxLength" in node or "enum" in node
    if node.get("type") == "array":
        return "maxItems" in node
    return "maxProperties" in node or "additionalProperties" not in node


@pytest.mark.parametrize("kind", BY_KIND)
def test_every_field_says_what_it_means(kind: str) -> None:
    properties = schema(BY_KIND[kind])["properties"]
    for part in ("spec", "status"):
        silent = [
            path
            for path, node in fields(properties[part], part)
            if not path.endswith(("[]", "{}")) and not node.get("description")
        ]
        assert silent == []


def test_what_a_profile_decides_has_no_default() -> None:
    spec = schema(BY_KIND["SpadeRun"])["properties"]["spec"]
    decided = ("seed", "environments", "play", "rewards", "switches", "learner.optimizer", "learner.loss")
    with_default = [path for path, node in fields(spec) if "default" in node and path.startswith(decided)]
    assert with_default == []


@pytest.mark.parametrize("kind", BY_KIND)
def test_a_status_has_no_defaults(kind: str) -> None:
    status = schema(BY_KIND[kind])["properties"]["status"]
    assert [path for path, node in fields(status) if "default" in node] == []


@pytest.mark.parametrize("kind", BY_KIND)
def test_conditions_merge_by_type(kind: str) -> None:
    conditions = schema(BY_KIND[kind])["properties"]["status"]["properties"]["conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


@pytest.mark.parametrize("kind", BY_KIND)
def test_status_is_a_subresource_and_names_are_ours(kind: str) -> None:
    built = definition(BY_KIND[kind])
    (version,) = built["spec"]["versions"]
    assert version["subresources"] == {"status": {}}
    assert built["metadata"]["name"] == f"{BY_KIND[kind].plural}.spade.dev"


def resolved(resource: CustomResource, json_path: str) -> bool:
    """Whether a printer column's path leads to a field of the schema."""
    node = schema(resource)
    node["properties"]["metadata"] = {"properties": {"creationTimestamp": {"type": "string"}}}
    path = re.sub(r"\[\?\(.*\)\]", "[]", json_path)
    for name in path.removeprefix(".").split("."):
        node = node.get("properties", {}).get(name.removesuffix("[]")) or node.get("additionalProperties")
        if node is None:
            return False
        if name.endswith("[]"):
            node = node["items"]
    return True


@pytest.mark.parametrize("kind", BY_KIND)
def test_printer_columns_lead_somewhere(kind: str) -> None:
    resource = BY_KIND[kind]
    lost = [column.name for column in resource.columns if not resolved(resource, column.json_path)]
    assert lost == []


@pytest.mark.parametrize("kind", BY_KIND)
def test_rules_say_what_to_write(kind: str) -> None:
    imperatives = ("make", "write", "set", "use", "name", "lower", "raise", "change", "may only")
    for rules in BY_KIND[kind].rules.values():
        for rule in rules:
            assert any(word in rule.message for word in imperatives), rule.message
            assert "\n" not in rule.message + rule.expression


def test_every_field_of_the_spec_is_the_methods_or_may_change() -> None:
    spec = schema(BY_KIND["SpadeRun"])["properties"]["spec"]
    changeable = {
        "rollouts", "suspend", "retry", "history", "retention", "engine.replicas", "sandbox.minPods", "sandbox.maxPods",
        "sandbox.sparePods", "sandbox.sessionsPerPod", "sandbox.quietSeconds", "sandbox.autoscaling", "workers.design",
        "workers.play", "workers.episodes", "storage.onDelete", "ttlSecondsAfterFinished",
    }  # fmt: skip
    while_paused = {field.removeprefix("spec.") for field in POD_FIELDS}
    budgets = {f"{role}.restarts" for role in ("learner", "engine", "sandbox", "workers")}
    known = set(METHOD_FIELDS) | changeable | while_paused | budgets
    nested = {"learner", "engine", "sandbox", "workers", "storage"}
    paths = {
        path
        for path, _ in fields(spec)
        if (path.split(".")[0] not in nested and "." not in path and "[" not in path)
        or (path.split(".")[0] in nested and path.count(".") == 1 and not path.endswith(("[]", "{}")))
    } - nested
    assert paths == known
