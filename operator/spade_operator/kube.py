"""The API client: a few verbs with typed errors, deadlines, retries and a count of every call.

Writes carry a precondition: a create fails if the object exists, a delete names the UID, a status write the version
it was decided on, an apply the UID, or that nothing of the name is there. An apply is forced under our one field
manager, so its outcome depends on its content alone.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
from pydantic_core import from_json

from spade_contracts.errors import SpadeError
from spade_contracts.labels import FIELD_MANAGER, GROUP, VERSION
from spade_operator.kube_config import Connection
from spade_operator.records import Kind

REQUEST_SECONDS = 20.0
"""How long a call may take, its repetitions included."""
ATTEMPTS = 4
RETRY_SECONDS = 0.5
MAX_RETRY_AFTER_SECONDS = 10.0
PAGE = 500
MAX_LOG_BYTES = 16_384
EVENT_SECONDS = 3.0
"""An Event that is not taken in this time is given up."""
NO_VERSION = "1"
"""Of the empty store, so no object has it. An apply to it makes what is not there; of every object that is there, the
API server finds that it was changed since.
"""
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
LEASE = "Lease"
EVENT = "Event"
NODE = "Node"
RUNTIME_CLASS = "RuntimeClass"
PRIORITY_CLASS = "PriorityClass"
STORAGE_CLASS = "StorageClass"
RESOURCE_QUOTA = "ResourceQuota"
RESOURCE_FLAVOR = "ResourceFlavor"
KUEUE = "apis/kueue.x-k8s.io/v1beta2"

PATHS: Mapping[str, tuple[str, str]] = {
    Kind.RUN: (f"apis/{GROUP}/{VERSION}", "spaderuns"),
    Kind.BATCH: (f"apis/{GROUP}/{VERSION}", "envbatches"),
    Kind.ROLLOUT: (f"apis/{GROUP}/{VERSION}", "rolloutjobs"),
    Kind.POD: ("api/v1", "pods"),
    Kind.JOB: ("apis/batch/v1", "jobs"),
    Kind.DEPLOYMENT: ("apis/apps/v1", "deployments"),
    Kind.CLAIM: ("api/v1", "persistentvolumeclaims"),
    Kind.SECRET: ("api/v1", "secrets"),
    Kind.CONFIG_MAP: ("api/v1", "configmaps"),
    Kind.SERVICE: ("api/v1", "services"),
    Kind.NETWORK_POLICY: ("apis/networking.k8s.io/v1", "networkpolicies"),
    Kind.WORKLOAD: (KUEUE, "workloads"),
    LEASE: ("apis/coordination.k8s.io/v1", "leases"),
    EVENT: ("apis/events.k8s.io/v1", "events"),
    NODE: ("api/v1", "nodes"),
    RUNTIME_CLASS: ("apis/node.k8s.io/v1", "runtimeclasses"),
    PRIORITY_CLASS: ("apis/scheduling.k8s.io/v1", "priorityclasses"),
    STORAGE_CLASS: ("apis/storage.k8s.io/v1", "storageclasses"),
    RESOURCE_QUOTA: ("api/v1", "resourcequotas"),
    RESOURCE_FLAVOR: (KUEUE, "resourceflavors"),
}
Object = dict[str, Any]
CallObserver = Callable[[str, str, str], None]
"""Told verb, resource and code of every call."""


class ApiError(SpadeError):
    """The API server refused a call or did not answer."""

    permanent = False

    def __init__(self, doing: str, code: int, message: str) -> None:
        self.doing, self.code, self.reason = doing, code, message
        super().__init__(f"{doing}: the API server answered {code or 'nothing'}: {message}")


class NotFound(ApiError):
    """The object is not there."""


class Conflict(ApiError):
    """The object exists already, or is no longer the one that was decided on; look again."""


class Refused(ApiError):
    """The object or the right to write it is wrong (400, 403, 422): repeating the call cannot help by itself."""

    permanent = True


class NamespaceEnding(ApiError):
    """The namespace is being deleted, or is gone: nothing can be made in it any more, and all in it goes."""


class Unavailable(ApiError):
    """No answer in time, or an error of the server's own."""


@dataclass(frozen=True)
class Listing:
    """A list, or a page of one, and the version it is of."""

    items: tuple[Object, ...]
    resource_version: str


class Kube:
    """Calls to one API server. Close it with `close`."""

    def __init__(
        self,
        connection: Connection,
        observe: CallObserver = lambda verb, resource, code: None,
        seconds: float = REQUEST_SECONDS,
    ) -> None:
        self._connection, self._observe, self._seconds = connection, observe, seconds
        context = connection.ssl_context()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=64, ssl=context if context is not None else True),
            timeout=aiohttp.ClientTimeout(total=seconds),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def list(self, kind: str, namespace: str = "", selector: str = "", *, metadata_only: bool = False) -> Listing:
        """All objects of a kind; `metadata_only` leaves spec and status out."""
        items: list[Object] = []
        async for page in self.pages(kind, namespace, selector, metadata_only=metadata_only):
            items.extend(page.items)
            version = page.resource_version
        return Listing(tuple(items), version)

    async def pages(
        self, kind: str, namespace: str = "", selector: str = "", *, metadata_only: bool = False
    ) -> AsyncIterator[Listing]:
        """The same in parts, at least one, all of one version: ten thousand pods at once would take half a gigabyte."""
        query = {"limit": str(PAGE)} | ({"labelSelector": selector} if selector else {})
        accept = METADATA_LIST if metadata_only else None
        while True:
            page = await self._call("list", kind, namespace, query=query, accept=accept)
            meta = page["metadata"]
            yield Listing(tuple(page.get("items") or ()), meta["resourceVersion"])
            if not meta.get("continue"):
                return
            query = query | {"continue": meta["continue"]}

    async def get(self, kind: str, namespace: str, name: str) -> Object:
        """One object. Raises NotFound."""
        return await self._call("get", kind, namespace, name)

    async def find(self, kind: str, namespace: str, name: str, *, metadata_only: bool = False) -> Object | None:
        """One object by a list of its name, for kinds that may be listed and not read; None when there is none."""
        query = {"fieldSelector": f"metadata.name={name}"}
        accept = METADATA_LIST if metadata_only else None
        found = (await self._call("list", kind, namespace, query=query, accept=accept)).get("items")
        return dict(found[0]) if found else None

    async def create(self, manifest: Object) -> Object:
        """Create an object. Raises Conflict if one of that name exists."""
        meta = manifest["metadata"]
        query = {"fieldManager": FIELD_MANAGER}
        return await self._call("create", manifest["kind"], meta["namespace"], query=query, body=manifest)

    async def apply(self, manifest: Object, *, uid: str | None = None) -> Object:
        """Server-side apply under our field manager: with a UID to this object only, with '' only if there is none of
        the name, else Conflict; without, to whatever has the name.
        """
        meta = manifest["metadata"]
        if uid is not None:
            only = {"uid": uid} if uid else {"resourceVersion": NO_VERSION}
            manifest = manifest | {"metadata": meta | only}
        return await self._call(
            "apply", manifest["kind"], meta["namespace"], meta["name"],
            query={"fieldManager": FIELD_MANAGER, "force": "true"}, body=manifest,
            content="application/apply-patch+yaml",
        )  # fmt: skip

    async def update(self, manifest: Object, *, part: str = "") -> Object:
        """Replace an object, or its part `status`, if it still has the manifest's resourceVersion; else Conflict."""
        meta = manifest["metadata"]
        query = {"fieldManager": FIELD_MANAGER}
        return await self._call(
            "update", manifest["kind"], meta["namespace"], meta["name"], part, query=query, body=manifest
        )

    async def patch(self, kind: str, namespace: str, name: str, patch: Object, *, part: str = "") -> Object:
        """Strategic merge patch of an object of Kubernetes' own; a `metadata.uid` in it is the precondition."""
        return await self._call(
            "patch", kind, namespace, name, part,
            query={"fieldManager": FIELD_MANAGER}, body=patch, content="application/strategic-merge-patch+json",
        )  # fmt: skip

    async def merge(self, kind: str, namespace: str, name: str, patch: Object, *, part: str = "") -> Object:
        """Merge patch of a custom resource; `metadata.uid` and `resourceVersion` in it are the preconditions."""
        return await self._call(
            "patch", kind, namespace, name, part,
            query={"fieldManager": FIELD_MANAGER}, body=patch, content="application/merge-patch+json",
        )  # fmt: skip

    async def delete(
        self,
        kind: str,
        namespace: str,
        name: str,
        *,
        uid: str,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete exactly this object, its children in the background; one that is gone already is no error, nor is one
        that is no longer of `version`."""
        options: Object = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        if version is not None:
            options["preconditions"]["resourceVersion"] = version
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            await self._call("delete", kind, namespace, name, body=options)
        except (NotFound, Conflict, NamespaceEnding):
            return

    async def post(self, event: Object) -> None:
        """Create an Event: one attempt with a short deadline. One of that name is there: it was told already."""
        with suppress(Conflict):
            await self._call(
                "create", EVENT, event["metadata"]["namespace"], body=event, attempts=1, seconds=EVENT_SECONDS
            )

    async def schemas(self, known: str) -> tuple[str, Object | None]:
        """Where the API server publishes the schemas of our kinds, and the schemas unless they are at `known`.

        The address changes with the content. Everybody who may use the API may read it. Raises NotFound while our
        kinds are not served.
        """
        doing = "read the published schemas"
        index = await self._request(doing, "get", "openapi", "GET", f"{self._connection.server}/openapi/v3")
        place = (index.get("paths") or {}).get(f"apis/{GROUP}/{VERSION}")
        if place is None:
            raise NotFound(doing, 404, f"{GROUP}/{VERSION} is not published")
        address = str(place["serverRelativeURL"])
        if address == known:
            return address, None
        url = f"{self._connection.server}{address}"
        return address, await self._request(doing, "get", "openapi", "GET", url)

    async def log(self, namespace: str, pod: str, container: str, *, previous: bool, lines: int) -> str:
        """Last lines of a container. Raises NotFound when the kubelet has them no longer."""
        query = {"container": container, "tailLines": str(lines), "limitBytes": str(MAX_LOG_BYTES)}
        if previous:
            query["previous"] = "true"
        answer = await self._call("get", Kind.POD, namespace, pod, "log", query=query, text=True)
        return str(answer["text"])

    async def _call(
        self,
        verb: str,
        kind: str,
        namespace: str,
        name: str = "",
        part: str = "",
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content: str = "application/json",
        accept: str | None = None,
        text: bool = False,
        attempts: int = ATTEMPTS,
        seconds: float | None = None,
    ) -> Object:
        root, plural = PATHS[kind]
        steps = [root, *(["namespaces", quote(namespace)] if namespace else []), plural]
        steps += [quote(step) for step in (name, part) if step]
        method = {"list": "GET", "get": "GET", "create": "POST", "update": "PUT", "delete": "DELETE"}.get(verb, "PATCH")
        named = name or (body or {}).get("metadata", {}).get("name", "")
        return await self._request(
            f"{verb} {kind} {namespace}/{named}{'/' + part if part else ''}", verb, plural, method,
            "/".join([self._connection.server, *steps]), query=query, body=body, content=content, accept=accept,
            text=text, attempts=attempts, seconds=seconds,
        )  # fmt: skip

    async def _request(
        self,
        doing: str,
        verb: str,
        resource: str,
        method: str,
        url: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content: str = "application/json",
        accept: str | None = None,
        text: bool = False,
        attempts: int = ATTEMPTS,
        seconds: float | None = None,
    ) -> Object:
        limit = seconds or self._seconds
        headers = {"Content-Type": content, "Accept": accept or ("*/*" if text else "application/json")}
        data = json.dumps(body) if body is not None else None
        try:
            async with asyncio.timeout(limit):
                for attempt in range(attempts):
                    code, answer, wait = await self._once(method, url, query or {}, headers, data, text)
                    self._observe(verb, resource, str(code))
                    if code < 300 and code > 0:
                        return answer
                    if not (code == 429 or code >= 500 or code == 0) or attempt == attempts - 1:
                        raise _error(doing, code, answer)
                    await asyncio.sleep(wait or RETRY_SECONDS * 2**attempt)
        except TimeoutError:
            self._observe(verb, resource, "timeout")
            raise Unavailable(doing, 0, f"no answer within {limit:.0f} s") from None
        raise AssertionError("every attempt returns, raises or waits")

    async def _once(  # noqa: PLR0917  # private, called once
        self, method: str, url: str, query: Mapping[str, str], headers: dict[str, str], data: str | None, text: bool
    ) -> tuple[int, Object, float]:
        """Status (0: no connection), decoded answer, and the wait that the server asks for."""
        if bearer := self._connection.bearer():
            headers = headers | {"Authorization": f"Bearer {bearer}"}
        try:
            async with self._session.request(method, url, params=query, headers=headers, data=data) as response:
                raw = await response.read()
                asked = response.headers.get("Retry-After", "")
                wait = min(float(asked), MAX_RETRY_AFTER_SECONDS) if asked.isdigit() else 0.0
                if text and response.status < 300:
                    return response.status, {"text": raw.decode("utf-8", "replace")}, wait
                return response.status, _decoded(raw), wait
        except aiohttp.ClientError as error:
            return 0, {"message": str(error)}, 0.0


def _decoded(raw: bytes) -> Object:
    try:
        content = from_json(raw)
    except ValueError:
        return {"message": raw[:300].decode("utf-8", "replace")}
    return content if isinstance(content, dict) else {"message": str(content)[:300]}


def _error(doing: str, code: int, answer: Object) -> ApiError:
    message = str(answer.get("message", ""))
    details: Object = answer.get("details") or {}
    causes: list[Object] = details.get("causes") or []
    ending = any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
    if (code == 403 and ending) or (code == 404 and details.get("kind") == "namespaces"):
        return NamespaceEnding(doing, code, message)
    if code == 422 and any(cause.get("field") == "metadata.uid" for cause in causes):
        return Conflict(doing, code, message)
    match code:
        case 404 | 410:
            return NotFound(doing, code, message)
        case 409:
            return Conflict(doing, code, message)
        case 400 | 401 | 403 | 405 | 415 | 422:
            return Refused(doing, code, message)
        case _:
            return Unavailable(doing, code, message)
