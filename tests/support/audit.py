"""What an account asked of the API server, by its audit log, and what roles grant."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Object = Mapping[str, Any]
CREATED = 201
FORBIDDEN = 403


@dataclass(frozen=True, order=True)
class Right:
    """A verb on a resource, `resource/subresource` included; `group` is empty for the core API."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' + self.group if self.group else ''}"


def calls_of(audit_log: Path, account: str) -> list[Object]:
    """Audit events of a service account, `NAMESPACE:NAME`, in their order."""
    user = f"system:serviceaccount:{account}"
    found = (json.loads(line) for line in audit_log.read_text().splitlines() if f'"{user}"' in line)
    return [event for event in found if event["user"]["username"] == user]


def used(calls: Iterable[Object]) -> frozenset[Right]:
    """The rights that these calls needed. An apply that makes an object needs `create` as well as `patch`."""
    return frozenset(right for call in calls if "resource" in call.get("objectRef", {}) for right in _rights(call))


def _rights(call: Object) -> Iterator[Right]:
    about = call["objectRef"]
    resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
    yield Right(about.get("apiGroup", ""), resource, call["verb"])
    if call["verb"] == "patch" and call.get("responseStatus", {}).get("code") == CREATED:
        yield Right(about.get("apiGroup", ""), resource, "create")


def forbidden(calls: Iterable[Object]) -> list[str]:
    """The calls that the API server's authorizer refused, as words."""
    return [
        f"{call['verb']} {call['requestURI']}: {call['responseStatus'].get('message', '')}"
        for call in calls
        if call.get("responseStatus", {}).get("code") == FORBIDDEN
    ]


def granted(objects: Iterable[Object]) -> frozenset[Right]:
    """What the Roles and ClusterRoles among the objects grant, verb by verb."""
    return frozenset(
        Right(group, resource, verb)
        for item in objects
        if item["kind"] in ("Role", "ClusterRole")
        for rule in item["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )
