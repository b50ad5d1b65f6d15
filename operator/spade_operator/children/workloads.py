"""The two shapes of workloads: a Deployment, whose lost pod holds no name, and a Job."""

from collections.abc import Mapping
from typing import Any

from spade_contracts.exit_codes import ExitCode
from spade_contracts.labels import ASKED_ANNOTATION, TEMPLATE_ANNOTATION, Role
from spade_operator.children.manifests import Manifest, child, digest, role_selector, run_labels
from spade_operator.children.names import role_name
from spade_operator.children.owner import Owner, Parent

NOT_BY_ANOTHER_POD = (ExitCode.NEVER, ExitCode.STORAGE_FULL)
"""What another pod of the Job would not mend; for each the Job would also wait longer."""


def deployment(
    owner: Owner,
    role: Role,
    template: Manifest,
    *,
    replicas: int | None,
    strategy: Manifest,
    asked: Mapping[str, Any],
) -> Manifest:
    """A role's Deployment. `replicas` None leaves the number to somebody else (HPA, KEDA).

    `asked`: what the owner's spec says of these pods. While it is the same, another template is the operator's doing
    (another version, other settings of the installation), and no reason to replace pods at work. Without defaults, so
    that a field that is new in a version changes nothing.
    """
    spec: Manifest = {
        "selector": {"matchLabels": role_selector(owner, role)},
        "strategy": strategy,
        # Old ReplicaSets would only be something to list: a run's pods are never rolled back.
        "revisionHistoryLimit": 0,
        "template": template,
    }
    if replicas is not None:
        spec["replicas"] = replicas
    name = role_name(owner.name, role)
    result = child(
        "apps/v1",
        "Deployment",
        name,
        owner,
        labels=run_labels(owner, role),
        parent=owner.parent,
        body={"spec": spec},
    )
    result["metadata"]["annotations"] |= {ASKED_ANNOTATION: digest(dict(asked)), TEMPLATE_ANNOTATION: digest(template)}
    return result


def indexed_job(
    owner: Owner,
    role: Role,
    name: str,
    template: Manifest,
    *,
    parent: Parent,
    pods: int,
    backoff_limit: int,
    labels: dict[str, str | int],
) -> Manifest:
    """An Indexed Job of `pods` pods, each index replaced only when its pod has failed for good.

    `backoff_limit` counts failures that were a pod's own; those of evictions, drains and lost nodes do not count, and
    a process that says that no other pod would do better fails the Job at once. If the limit is 0 any lost pod fails
    it, because the group stands or falls together.
    """
    spec: Manifest = {
        "completionMode": "Indexed",
        "completions": pods,
        "parallelism": pods,
        "backoffLimit": backoff_limit,
        "podReplacementPolicy": "Failed",
        "template": template,
    }
    if backoff_limit > 0:
        hopeless = {"containerName": str(role), "operator": "In", "values": [*map(int, NOT_BY_ANOTHER_POD)]}
        disrupted = [{"type": "DisruptionTarget", "status": "True"}]
        # The first that fits counts: what a process says of itself holds even if its pod was on its way out.
        rules: list[Manifest] = [
            {"action": "FailJob", "onExitCodes": hopeless},
            {"action": "Ignore", "onPodConditions": disrupted},
        ]
        spec["podFailurePolicy"] = {"rules": rules}
    return child(
        "batch/v1", "Job", name, owner, labels=run_labels(owner, role, **labels), parent=parent, body={"spec": spec}
    )
