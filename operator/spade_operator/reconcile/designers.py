"""Acceptance of a designer: its source, pool and endpoints, and the names of its skills."""

from urllib.parse import urlsplit

from spade_contracts.config import EnvironmentsConfig
from spade_contracts.config.environments import ASKED, DesignerSource, EndpointConfig, HintMode, PoolConfig
from spade_contracts.config.skills import known_skills, unknown_skills
from spade_contracts.errors import InvalidInput

DESIGNER = "spec.environments.designer"
HINTS = "spec.environments.hints"


def check_designer(environments: EnvironmentsConfig) -> None:
    """Raise InvalidInput, naming the field and what to write, for what no cycle could be designed with."""
    designer, hints = environments.designer, environments.hints
    _check_endpoint(f"{DESIGNER}.endpoint", designer.endpoint, wanted=designer.source is DesignerSource.ENDPOINT)
    _check_endpoint(f"{HINTS}.endpoint", hints.endpoint, wanted=hints.mode is HintMode.ENDPOINT)
    _check_pool(designer.pool, wanted=designer.source is DesignerSource.POOL)
    if designer.source in ASKED:
        _check_skills(environments)


def _check_endpoint(where: str, endpoint: EndpointConfig, *, wanted: bool) -> None:
    if not wanted:
        if endpoint.url:
            remedy = "Remove it, or write source: Endpoint (hints: mode: Endpoint)."
            raise InvalidInput(f"{where}.url", "is not used", remedy=remedy)
        return
    parts = urlsplit(endpoint.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        remedy = "Write the base URL of an OpenAI-compatible endpoint, such as https://HOST/v1."
        raise InvalidInput(f"{where}.url", f"{endpoint.url!r} is no address of an endpoint", remedy=remedy)
    if parts.username or parts.password or parts.query:
        remedy = "Put the key into a Secret: spec.workers.pod.secretEnvironment."
        raise InvalidInput(f"{where}.url", "holds more than an address, and all may read it", remedy=remedy)
    if not endpoint.model:
        raise InvalidInput(f"{where}.model", "is empty", remedy="Write the model's name at the endpoint.")


def _check_pool(pool: PoolConfig, *, wanted: bool) -> None:
    where = f"{DESIGNER}.pool"
    if not wanted:
        if pool.uri:
            raise InvalidInput(f"{where}.uri", "is not used", remedy="Remove it, or write source: Pool.")
        return
    parts = urlsplit(pool.uri)
    if not (pool.uri.startswith("file:///") or (parts.scheme == "s3" and parts.netloc)):
        remedy = "Write file:///PATH, as the pods see it, or s3://BUCKET/KEY of a folder, JSONL or Parquet file."
        raise InvalidInput(f"{where}.uri", f"{pool.uri!r} cannot be read", remedy=remedy)
    if not pool.sha256:
        remedy = "Write the digest of the pool; docs/designer.md says how it is made."
        raise InvalidInput(f"{where}.sha256", "is empty", remedy=remedy)


def _check_skills(environments: EnvironmentsConfig) -> None:
    unknown = unknown_skills(environments.domain, environments.skills)
    if unknown:
        known = ", ".join(known_skills(environments.domain))
        message = f"{', '.join(map(repr, unknown))} cannot be trained in the domain {environments.domain}"
        raise InvalidInput("spec.environments.skills", message, remedy=f"Use of {known}.")
