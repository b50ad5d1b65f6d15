"""What the commands need of a cluster: our objects as models, and the operator's live page through the API server."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml

from spade_contracts.base import Contract
from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_contracts.labels import GROUP, VERSION
from spade_contracts.ports import OPERATOR_METRICS
from spade_contracts.resources import SpadeRunSpec, SpadeRunStatus

PLURALS = {"SpadeRun": "spaderuns", "EnvBatch": "envbatches", "RolloutJob": "rolloutjobs"}
REQUEST_SECONDS = 20


class LiveView(Contract):
    """The operator's `GET /runs/<namespace>/<name>`: what is too frequent to be written to the API server."""

    model_config = Contract.model_config | {"extra": "ignore"}

    phase: str = ""
    rollout: int = 0
    cycle: int = 0
    doing: str = ""
    episodes_done: int | None = None
    episodes_planned: int | None = None
    learnable_fraction: float | None = None


@dataclass(frozen=True)
class Run:
    """A SpadeRun as the API server has it."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: SpadeRunSpec
    status: SpadeRunStatus


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Errors of the Kubernetes client as ours, with the server's own words."""
    from kubernetes.client import ApiException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except ApiException as error:
        try:
            message = str(json.loads(error.body)["message"])
        except (TypeError, ValueError, KeyError):
            message = str(error.reason)
        if error.status in (400, 403, 404, 409, 422):
            raise InvalidInput(doing, message) from error
        raise InfrastructureFault(f"{doing}: the API server answered {error.status}: {message}") from error
    except HTTPError as error:
        raise InfrastructureFault(
            f"{doing}: the API server does not answer ({error}).",
            remedy="Is the cluster up? `make cluster` starts ours.",
        ) from error


def connect(kubeconfig: str | None, context: str | None = None) -> Any:
    """An API client from a kubeconfig file (None: KUBECONFIG or ~/.kube/config) and a context of it (None: its current
    one). Raises InvalidInput without one.
    """
    from kubernetes import client, config

    try:
        config.load_kube_config(config_file=kubeconfig, context=context)
    except (config.ConfigException, OSError, yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
        # The client looks at nothing of a file before it uses it.
        raise InvalidInput(
            kubeconfig or "KUBECONFIG",
            f"is no kubeconfig that can be used: {error}",
            remedy='In a checkout, eval "$(cluster/kubeconfig)" points at ours.',
        ) from error
    return client.ApiClient()


class _Strict(yaml.SafeLoader):
    """YAML in which no key stands twice: of two objects pasted together, the first would be lost in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a second key of the same name."""
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"):
            if key.value in seen:
                problem = f"the key {key.value!r} stands there twice; write --- between two objects"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_document(path: str) -> dict[str, Any]:
    """The one Kubernetes object in a YAML file. Raises InvalidInput that says what is wrong with the file."""
    try:
        with open(path, encoding="utf-8") as file:
            documents = [d for d in yaml.load_all(file, Loader=_Strict) if d]
    except OSError as error:
        raise InvalidInput(path, str(error.strerror)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(path, f"is not YAML: {error}") from error
    except RecursionError as error:
        raise InvalidInput(path, "is nested too deeply") from error
    if len(documents) != 1:
        raise InvalidInput(path, f"holds {len(documents)} documents; write exactly one object")
    if not isinstance(documents[0], dict):
        raise InvalidInput(
            path, "holds text or a list", remedy="Write one object with apiVersion, kind, metadata, spec."
        )
    document: dict[str, Any] = documents[0]
    _check_kind(path, document)
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise InvalidInput(path, "has no metadata.name; write one")
    return document


def _check_kind(path: str, document: dict[str, Any]) -> None:
    """Raise InvalidInput that says what stands there, for an object that is none of ours."""
    for field, known in (("apiVersion", (f"{GROUP}/{VERSION}",)), ("kind", tuple(PLURALS))):
        found = document.get(field)
        if found not in known:
            said = f"has the {field} {found!r}" if field in document else f"has no {field}"
            raise InvalidInput(path, said, remedy=f"Write {field}: {' or '.join(known)}.")


def apply(api: Any, document: dict[str, Any], namespace: str) -> None:
    """Server-side apply of one of our objects, as the user."""
    from kubernetes import client

    name = document["metadata"]["name"]
    with translated(f"apply {document['kind']} {namespace}/{name}"):
        client.CustomObjectsApi(api).patch_namespaced_custom_object(
            GROUP, VERSION, namespace, PLURALS[document["kind"]], name, document,
            field_manager="spade-cli", force=True, field_validation="Strict",
            _content_type="application/apply-patch+yaml", _request_timeout=REQUEST_SECONDS,
        )  # fmt: skip


def get_run(api: Any, namespace: str, name: str) -> Run:
    """The run now. Raises InvalidInput when there is none."""
    from kubernetes import client

    with translated(f"get SpadeRun {namespace}/{name}"):
        found = client.CustomObjectsApi(api).get_namespaced_custom_object(
            GROUP, VERSION, namespace, "spaderuns", name, _request_timeout=REQUEST_SECONDS
        )
    meta = found["metadata"]
    return Run(
        namespace,
        name,
        meta["uid"],
        meta["generation"],
        SpadeRunSpec.model_validate(found["spec"]),
        SpadeRunStatus.model_validate(found.get("status", {})),
    )


def live_view(api: Any, operator_namespace: str, run: Run) -> LiveView | None:
    """The operator's live page of the run, or None while the operator does not answer."""
    from kubernetes import client

    service = f"spade-operator:{OPERATOR_METRICS}"
    try:
        with translated("read the operator's live page"):
            text = client.CoreV1Api(api).connect_get_namespaced_service_proxy_with_path(
                service, operator_namespace, f"runs/{run.namespace}/{run.name}", _request_timeout=5,
                _preload_content=False,
            ).data  # fmt: skip
        return LiveView.model_validate_json(text)
    except (InvalidInput, InfrastructureFault, ValueError):
        return None
