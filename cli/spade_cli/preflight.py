"""The cluster's part of `spade check`: the operator's own checks, with the rights of whoever asks."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import ValidationError

from spade_cli.cluster import REQUEST_SECONDS, connect, translated
from spade_contracts.errors import InvalidInput
from spade_contracts.labels import GROUP, VERSION
from spade_contracts.resources import RunCondition, SpadeRunSpec
from spade_operator.children.owner import Run
from spade_operator.children.site import Site
from spade_operator.preflight import surroundings
from spade_operator.preflight.checks import check_all
from spade_operator.preflight.findings import Finding, Level
from spade_operator.preflight.plan import Plan, plan_of
from spade_operator.preflight.surroundings import Surroundings

SITE_MAP, SITE_KEY = "spade-operator-site", "site.json"
REACH_SECONDS = 3
FORBIDDEN, NOT_FOUND = 403, 404
Items = list[dict[str, Any]]


def reach(kubeconfig: str | None, context: str | None) -> Any:
    """A client of a cluster that answers. Raises InvalidInput or InfrastructureFault that says why there is none."""
    from kubernetes import client

    api = connect(kubeconfig, context)
    with translated("ask the cluster for its version"):
        client.VersionApi(api).get_code(_request_timeout=REACH_SECONDS)
    return api


def look_and_check(
    api: Any, spec: SpadeRunSpec, name: str, namespace: str, operator_namespace: str
) -> tuple[Finding, ...]:
    """What the checks find for a run of that name. Raises InfrastructureFault when the API server fails."""
    with translated("look at the cluster"):
        site = read_site(api, operator_namespace)
    if site is None:
        where = f"ConfigMap {operator_namespace}/{SITE_MAP}"
        message = f"The installation's settings ({where}) cannot be read, so nothing of the cluster was compared."
        remedy = "Name its namespace with --operator-namespace, or ask somebody who may read it."
        return (Finding(Level.UNKNOWN, "installation", message, remedy),)
    plan = plan_of(Run(namespace, name, "", spec), site)
    with translated("look at the cluster"):
        return check_all(plan, look(api, plan))


def read_site(api: Any, operator_namespace: str) -> Site | None:
    """The installation's settings; None where they are not, or not for us to read.

    Raises InvalidInput when they are of another version of the chart.
    """
    from kubernetes import client

    found = _asked(client.CoreV1Api(api).read_namespaced_config_map, SITE_MAP, operator_namespace)
    if found is None:
        return None
    try:
        return Site.model_validate_json(found["data"][SITE_KEY])
    except (KeyError, ValidationError) as error:
        raise InvalidInput(
            f"ConfigMap {operator_namespace}/{SITE_MAP}", f"is none of this version: {error}",
            remedy="Use the command of the installed chart's version, or --offline.",
        ) from error  # fmt: skip


def look(api: Any, plan: Plan) -> Surroundings:
    """All that the checks want to know, as far as this user may look."""
    from kubernetes import client

    core, namespace = client.CoreV1Api(api), plan.namespace
    nodes = _listed(core.list_node)
    classes = _listed(client.NodeV1Api(api).list_runtime_class)
    priorities = _listed(client.SchedulingV1Api(api).list_priority_class)
    storage = _listed(client.StorageV1Api(api).list_storage_class)
    quotas = _listed(core.list_namespaced_resource_quota, namespace)
    claims = _listed(core.list_namespaced_persistent_volume_claim, namespace)
    runs = _listed(client.CustomObjectsApi(api).list_namespaced_custom_object, GROUP, VERSION, namespace, "spaderuns")
    return Surroundings(
        nodes=None if nodes is None else surroundings.nodes_of(nodes),
        runtime_classes=None if classes is None else surroundings.runtime_classes_of(classes),
        priority_classes=None if priorities is None else surroundings.names_of(priorities),
        storage_classes=None if storage is None else surroundings.storage_classes_of(storage),
        quotas=None if quotas is None else tuple(map(surroundings.quota_of, quotas)),
        claims=None if claims is None else {c["metadata"]["name"]: surroundings.claim_of(c) for c in claims},
        secrets=_keys(core.read_namespaced_secret, plan.secrets(), namespace),
        config_maps=_keys(core.read_namespaced_config_map, plan.config_maps(), namespace),
        proven_by=next((run["metadata"]["name"] for run in runs or () if _is_isolated(run)), ""),
        own_use=any(run["metadata"]["name"] == plan.name for run in runs or ()),
    )


def _is_isolated(run: dict[str, Any]) -> bool:
    conditions = (run.get("status") or {}).get("conditions") or []
    return any(c["type"] == RunCondition.ISOLATED and c["status"] == "True" for c in conditions)


def _keys(read: Callable[..., Any], names: Iterable[str], namespace: str) -> dict[str, frozenset[str] | None] | None:
    """Keys of the named objects; None of one that is not there, and in all when one may not be read."""
    from kubernetes.client import ApiException

    found: dict[str, frozenset[str] | None] = {}
    for name in names:
        try:
            item = _answer(read, name, namespace)
        except ApiException as error:
            if error.status == FORBIDDEN:
                return None
            if error.status != NOT_FOUND:
                raise
            found[name] = None
        else:
            found[name] = frozenset({**(item.get("data") or {}), **(item.get("binaryData") or {})})
    return found


def _listed(list_all: Callable[..., Any], *where: str) -> Items | None:
    """Items of a list; None when this user may not list them, or the cluster has no such kind."""
    found = _asked(list_all, *where)
    return None if found is None else list(found.get("items") or [])


def _asked(call: Callable[..., Any], *arguments: str) -> dict[str, Any] | None:
    from kubernetes.client import ApiException

    try:
        return _answer(call, *arguments)
    except ApiException as error:
        if error.status in (FORBIDDEN, NOT_FOUND):
            return None
        raise


def _answer(call: Callable[..., Any], *arguments: str) -> dict[str, Any]:
    """The JSON of an answer; the client's own classes would drop what they do not know."""
    response = call(*arguments, _preload_content=False, _request_timeout=REQUEST_SECONDS)
    answer: dict[str, Any] = json.loads(response.data)
    return answer
