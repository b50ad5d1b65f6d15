"""Where a pod may run, from the settings of its role to the words of Kubernetes."""

from collections.abc import Mapping, Sequence

from spade_contracts.base import Document
from spade_contracts.resources.placement import Affinity, NodeAffinity, PodAffinity, PodTerm, TopologySpread
from spade_contracts.resources.pods import SandboxPodSettings
from spade_operator.children.manifests import Manifest
from spade_operator.queueing import Place

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def placement(settings: SandboxPodSettings, selector: Mapping[str, str]) -> Manifest:
    """The fields of a pod's spec that say where it may run; `selector` finds the pods that are spread together."""
    fields: Manifest = {
        "nodeSelector": dict(settings.node_selector),
        "tolerations": _dumped(settings.tolerations),
        "affinity": _affinity(settings.affinity),
        "topologySpreadConstraints": [_spread(one, selector) for one in settings.topology_spread],
        "priorityClassName": settings.priority_class_name,
    }
    return {name: value for name, value in fields.items() if value}


def at_place(fields: Manifest, place: Place | None) -> Manifest:
    """The same fields in the nodes that Kueue reckoned with; it has seen the run's own selectors before."""
    if place is None:
        return fields
    tolerations = [*fields.get("tolerations", []), *(dict(one) for one in place.tolerations)]
    added: Manifest = {
        "nodeSelector": {**place.node_selector, **fields.get("nodeSelector", {})},
        "tolerations": [one for number, one in enumerate(tolerations) if one not in tolerations[:number]],
    }
    return fields | {name: value for name, value in added.items() if value}


def _affinity(affinity: Affinity) -> Manifest:
    fields = {
        "nodeAffinity": _nodes(affinity.node_affinity),
        "podAffinity": _neighbours(affinity.pod_affinity),
        "podAntiAffinity": _neighbours(affinity.pod_anti_affinity),
    }
    return {name: value for name, value in fields.items() if value}


def _nodes(affinity: NodeAffinity) -> Manifest:
    result: Manifest = {}
    if affinity.required:
        result[REQUIRED] = {"nodeSelectorTerms": [{"matchExpressions": _dumped(affinity.required)}]}
    if affinity.preferred:
        result[PREFERRED] = [
            {"weight": one.weight, "preference": {"matchExpressions": _dumped(one.match_expressions)}}
            for one in affinity.preferred
        ]
    return result


def _neighbours(affinity: PodAffinity) -> Manifest:
    result: Manifest = {}
    if affinity.required:
        result[REQUIRED] = [_term(term) for term in affinity.required]
    if affinity.preferred:
        result[PREFERRED] = [{"weight": one.weight, "podAffinityTerm": _term(one.term)} for one in affinity.preferred]
    return result


def _term(term: PodTerm) -> Manifest:
    return {"topologyKey": term.topology_key, "labelSelector": {"matchLabels": dict(term.match_labels)}}


def _spread(spread: TopologySpread, selector: Mapping[str, str]) -> Manifest:
    return {
        "topologyKey": spread.topology_key,
        "maxSkew": spread.max_skew,
        "whenUnsatisfiable": str(spread.when_unsatisfiable),
        "labelSelector": {"matchLabels": dict(selector)},
    }


def _dumped(parts: Sequence[Document]) -> list[Manifest]:
    """As Kubernetes has them, without what is empty."""
    return [part.model_dump(mode="json", exclude_defaults=True, exclude_none=True) for part in parts]
