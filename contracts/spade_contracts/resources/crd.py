"""CustomResourceDefinitions from the models: structural OpenAPI v3, bounded, with CEL rules and printer columns.

Pydantic writes JSON Schema 2020; the API server wants the structural subset of OpenAPI 3.0: no references, no
unions with null, boolean exclusive bounds, no `additionalProperties` beside `properties`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spade_contracts.base import Document
from spade_contracts.labels import EDITION_ANNOTATION, GROUP, VERSION
from spade_contracts.resources import env_batch, rollout_job, spade_run
from spade_contracts.resources.columns import Column
from spade_contracts.resources.edition import edition
from spade_contracts.resources.rule import Rule
from spade_contracts.resources.rules import ENV_BATCH_RULES, ROLLOUT_JOB_RULES, SPADE_RUN_RULES
from spade_contracts.resources.scalars import NAMES_MESSAGE

Schema = dict[str, Any]
KEPT = (
    "type", "format", "description", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems",
    "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
MARKS = {"[]": "items", "{}": "additionalProperties"}
"""What stands in a path for an item of a list and for a value of a map."""


@dataclass(frozen=True)
class CustomResource:
    """One kind: its words, models, rules and columns."""

    kind: str
    plural: str
    short_name: str
    description: str
    spec: type[Document]
    status: type[Document]
    rules: Mapping[str, tuple[Rule, ...]]
    columns: tuple[Column, ...]

    @property
    def singular(self) -> str:
        """Lower-case kind."""
        return self.kind.lower()


CUSTOM_RESOURCES = (
    CustomResource(
        "SpadeRun",
        "spaderuns",
        "sr",
        "One run of the method, from a model to trained policies.",
        spade_run.SpadeRunSpec,
        spade_run.SpadeRunStatus,
        SPADE_RUN_RULES,
        spade_run.COLUMNS,
    ),
    CustomResource(
        "EnvBatch",
        "envbatches",
        "eb",
        "The environments of one cycle of a run.",
        env_batch.EnvBatchSpec,
        env_batch.EnvBatchStatus,
        ENV_BATCH_RULES,
        env_batch.COLUMNS,
    ),
    CustomResource(
        "RolloutJob",
        "rolloutjobs",
        "rj",
        "The plays of one rollout of a run.",
        rollout_job.RolloutJobSpec,
        rollout_job.RolloutJobStatus,
        ROLLOUT_JOB_RULES,
        rollout_job.COLUMNS,
    ),
)


def definition(resource: CustomResource) -> Schema:
    """The CustomResourceDefinition of a kind.

    Its edition stands in an annotation for people, and as the schema's title: the API server publishes that to
    everybody who may talk to it, whether or not he may read CustomResourceDefinitions.
    """
    whole = schema(resource)
    stamp = edition(resource.kind, whole)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{GROUP}", "annotations": {EDITION_ANNOTATION: stamp}},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.singular,
                "shortNames": [resource.short_name],
                "categories": ["spade"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(column) for column in resource.columns],
                    "schema": {"openAPIV3Schema": {"title": stamp, **whole}},
                }
            ],
        },
    }


def schema(resource: CustomResource) -> Schema:
    """The kind's whole schema with its rules in their places."""
    spec = structural(resource.spec)
    result: Schema = {
        "type": "object",
        "description": resource.description,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": without_defaults(structural(resource.status)),
        },
    }
    for path, rules in resource.rules.items():
        place = _at(result, path)
        place.setdefault("x-kubernetes-validations", []).extend(_validation(rule) for rule in rules)
    return result


def _at(node: Schema, path: str) -> Schema:
    """The place of a path as `fields` writes it."""
    for part in filter(None, path.split(".")):
        node = node["properties"][part.removesuffix("[]").removesuffix("{}")]
        for mark, key in MARKS.items():
            node = node[key] if part.endswith(mark) else node
    return node


def structural(model: type[Document]) -> Schema:
    """A model's schema in the API server's dialect."""
    whole = model.model_json_schema(by_alias=True, mode="validation")
    return _converted(whole, whole.get("$defs", {}))


def without_defaults(node: Schema) -> Schema:
    """The same schema without defaults: a status says what is, not what could be."""
    result = {key: value for key, value in node.items() if key != "default"}
    for key in ("items", "additionalProperties"):
        if key in result:
            result[key] = without_defaults(result[key])
    if "properties" in result:
        result["properties"] = {name: without_defaults(inner) for name, inner in result["properties"].items()}
    return result


def fields(node: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every field below a schema with its path; `[]` stands for an item and `{}` for a value of a map."""
    for name, inner in node.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, inner
        yield from fields(inner, here)
    for mark, key in MARKS.items():
        if key in node:
            yield path + mark, node[key]
            yield from fields(node[key], path + mark)


def _converted(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    node = _resolved(node, definitions)
    if node.get("type") == "quantity":
        return _quantity(node)
    result: Schema = {key: node[key] for key in KEPT if key in node}
    if "const" in node:
        result["enum"] = [node["const"]]
    if "description" in result:
        result["description"] = " ".join(result["description"].split())
    if result.get("type") == "integer":
        result["format"] = "int64"
    elif result.get("type") == "number":
        result["format"] = "double"
    for bound, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if bound in node:
            result[limit] = node[bound]
            result[bound] = True
    if "properties" in node:
        result["properties"] = {name: _converted(inner, definitions) for name, inner in node["properties"].items()}
        if node.get("required"):
            result["required"] = node["required"]
    elif result.get("type") == "object":
        result |= _map(node, definitions)
    if "items" in node:
        result["items"] = _converted(node["items"], definitions)
        result |= _list_kind(result["items"])
    return result | _default(node, result)


def _resolved(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """The node with its reference or its union with null replaced by what it stands for."""
    if "$ref" in node:
        target = _resolved(definitions[node["$ref"].rpartition("/")[2]], definitions)
        own = {key: value for key, value in node.items() if key != "$ref"}
        return target | own
    choices = [choice for choice in node.get("anyOf", ()) if choice.get("type") != "null"]
    if not choices:
        return node
    if len(choices) > 1:
        raise ValueError(f"a union of {len(choices)} types has no structural schema: {node}")
    own = {key: value for key, value in node.items() if key != "anyOf"}
    return _resolved(choices[0], definitions) | own


def _default(node: Schema, converted: Schema) -> Schema:
    """The default to write: none for what is empty or left to the profile, `{}` where inner defaults fill it."""
    value = node.get("default")
    if value is None or value in ([], {}):
        return {}
    if converted.get("type") == "object":
        inner = converted.get("properties", {}).values()
        return {"default": {}} if any("default" in field for field in inner) else {}
    return {"default": value}


def _map(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    patterns = node.get("patternProperties", {})
    keys = dict(node.get("propertyNames", {}))
    if patterns:
        ((pattern, values),) = patterns.items()
        keys["pattern"] = pattern
    else:
        values = node["additionalProperties"]
    result: Schema = {"additionalProperties": _converted(values, definitions)}
    checks = []
    if "maxLength" in keys:
        checks.append(f"size(k) <= {keys['maxLength']}")
    if "pattern" in keys:
        checks.append(f"k.matches('{keys['pattern']}')")
    if checks:
        words = [f"at most {keys['maxLength']} characters"] if "maxLength" in keys else []
        words += [f"the form {keys['pattern']}"] if "pattern" in keys else []
        message = node.get(NAMES_MESSAGE, f"names must have {' and '.join(words)}")
        result["x-kubernetes-validations"] = [_validation(Rule(f"self.all(k, {' && '.join(checks)})", message))]
    return result


def _list_kind(items: Schema) -> Schema:
    """Conditions merge by type; every other list is replaced as a whole."""
    properties = items.get("properties", {})
    if {"type", "status", "lastTransitionTime"} <= properties.keys():
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return {"x-kubernetes-list-type": "atomic"}


def _quantity(node: Schema) -> Schema:
    result: Schema = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
        "pattern": node["pattern"],
        "maxLength": node["maxLength"],
    }
    return result | {key: node[key] for key in ("description", "default") if key in node}


def _column(column: Column) -> Schema:
    result: Schema = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    if column.description:
        result["description"] = column.description
    return result | ({"priority": 1} if column.wide else {})


def _validation(rule: Rule) -> Schema:
    result: Schema = {"rule": rule.rule, "message": rule.message}
    if rule.once:
        result |= {"rule": f"oldSelf.hasValue() || ({rule.rule})", "optionalOldSelf": True}
    if rule.expression:
        result["messageExpression"] = rule.expression
    if rule.field:
        result["fieldPath"] = rule.field
    return result
