"""No field of a spec names another namespace's objects, chooses a runtime or an account, or mounts the node.

Stated over the whole schemas as the API server has them, so that a new field is held to it, too.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

CRDS = sorted((Path(__file__).parents[3] / "crds").glob("*.yaml"))
Schema = dict[str, Any]
FORBIDDEN = re.compile(
    "namespace|runtimeclass|runtimename|serviceaccount|token|hostpath|hostnetwork|hostpid|hostipc|hostport|hostalias|hostuser"
    "|securitycontext|seccomp|apparmor|selinux|privilege|capabilit|sysctl|procmount|propagation|devices?$|schedulername"
    "|^nodename$|^images?$|^command$|^subpath|projected|^csi$|^nfs$|^local$|^ephemeral$|initcontainer|^containers?$"
    "|sidecar|lifecycle|readinessgate|valuefrom|envfrom",
    re.IGNORECASE,
)
"""What a field must not be called, as Kubernetes calls it."""
COUNTS = frozenset({"contextTokens", "maxNewTokens", "maxTokens", "maxTokensPerMicrobatch"})
"""Tokens of language."""
VOLUME_SOURCES = frozenset({"persistentVolumeClaim", "emptyDir", "configMap", "secret"})
VOLUME_FIELDS = VOLUME_SOURCES | {"mountPath", "readOnly"}
REFERENCES = frozenset({
    "claimName", "secretName", "secret", "name", "run", "priorityClassName", "storageClassName", "fromRun",
})  # fmt: skip
"""Leaves that name an object. Its namespace is the run's, or it has none."""
ELSEWHERE = ("other/mini", "other:mini", "/mini", "../mini", "other\\mini", "mini?namespace=other")


class Field(NamedTuple):
    """A property of a schema, and where it stands."""

    path: str
    name: str
    schema: Schema


def fields(schema: Schema, path: str) -> Iterator[Field]:
    """Every property below a schema, those of lists and maps included."""
    for name, below in schema.get("properties", {}).items():
        yield Field(f"{path}.{name}", name, below)
        yield from fields(below, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield Field(f"{path}[]", "", schema[word])
            yield from fields(schema[word], f"{path}[]")


def specs() -> Iterator[Field]:
    for crd in map(yaml.safe_load, (path.read_text() for path in CRDS)):
        for version in crd["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            yield from fields(spec, f"{crd['spec']['names']['kind']}.spec")


FIELDS = list(specs())


def test_all_three_kinds_are_walked_to_their_leaves() -> None:
    assert {field.path.split(".")[0] for field in FIELDS} == {"SpadeRun", "EnvBatch", "RolloutJob"}
    paths = {field.path for field in FIELDS}
    assert "SpadeRun.spec.workers.pod.volumes[].secret.secretName" in paths
    assert "SpadeRun.spec.learner.pod.affinity.nodeAffinity.preferred[].matchExpressions[].key" in paths


def test_no_field_is_one_that_leads_out_of_the_namespace_or_the_sandbox() -> None:
    assert [f.path for f in FIELDS if FORBIDDEN.search(f.name) and f.name not in COUNTS] == []


@pytest.mark.parametrize(
    "name",
    [
        "namespace", "namespaces", "namespaceSelector", "runtimeClassName", "serviceAccountName", "serviceAccount",
        "automountServiceAccountToken", "hostPath", "hostNetwork", "hostPID", "hostIPC", "hostPort", "hostUsers",
        "securityContext", "privileged", "capabilities", "volumeDevices", "mountPropagation", "schedulerName",
        "nodeName", "image", "initContainers", "subPathExpr", "valueFrom", "envFrom", "seccompProfile",
    ],
)  # fmt: skip
def test_a_field_of_that_kind_would_be_found(name: str) -> None:
    assert FORBIDDEN.search(name)


def test_volumes_are_of_few_kinds_and_none_is_of_the_node() -> None:
    volumes = [f for f in FIELDS if f.path.endswith(".volumes[]")]
    assert volumes
    for volume in volumes:
        assert set(volume.schema["properties"]) <= VOLUME_FIELDS, volume.path


def test_no_volume_is_where_specs_of_sandboxes_are() -> None:
    assert [f.path for f in FIELDS if ".sandbox." in f.path and f.name in {*VOLUME_SOURCES, "volumes"}] == []


def test_a_name_of_an_object_has_no_room_for_a_namespace() -> None:
    named = [f for f in FIELDS if f.name in REFERENCES and f.schema.get("type") == "string"]
    assert {f.name for f in named} >= {"claimName", "secretName", "secret", "priorityClassName"}
    for field in named:
        pattern = field.schema.get("pattern", "")
        assert pattern, f"{field.path} takes any text"
        assert not [name for name in ELSEWHERE if re.search(pattern, name)], field.path


def test_nothing_is_open_for_fields_that_the_schema_does_not_name() -> None:
    for field in FIELDS:
        open_ended = field.schema.get("x-kubernetes-preserve-unknown-fields") or field.schema.get(
            "x-kubernetes-embedded-resource"
        )
        assert not open_ended, field.path
        if field.schema.get("type") == "object":
            assert "properties" in field.schema or "additionalProperties" in field.schema, field.path
