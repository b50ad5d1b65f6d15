"""One Secret a role, with the tokens it presents and the digests it checks (design §11, spade_contracts.tokens)."""

import base64

from spade_contracts.labels import Role
from spade_contracts.tokens import Door, derive_token, token_digest
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import tokens_name
from spade_operator.children.run import Run
from spade_operator.children.site import Site

PRESENTS: dict[Role, tuple[Door, ...]] = {
    Role.WORKER: (Door.ENGINE_DATA, Door.SANDBOX_SESSIONS),
    Role.LEARNER: (Door.ENGINE_CONTROL,),
}
CHECKS: dict[Role, tuple[Door, ...]] = {
    Role.SANDBOX: (Door.SANDBOX_SESSIONS,),
    Role.ENGINE: (Door.ENGINE_DATA, Door.ENGINE_CONTROL),
    Role.LEARNER: (Door.LEARNER_CONTROL,),
}
ROLES = tuple(role for role in Role if role in PRESENTS or role in CHECKS)
"""Roles that have a Secret."""


def token_secrets(run: Run, site: Site) -> list[Manifest]:
    """The roles' Secrets. A server's holds digests only, so what breaks into it can open nothing."""
    return [_secret(run, site, role) for role in ROLES]


def _secret(run: Run, site: Site, role: Role) -> Manifest:
    def token(door: Door) -> str:
        return derive_token(site.installation_key, run.uid, door)

    values = {str(door): token(door) for door in PRESENTS.get(role, ())}
    values |= {f"{door}.sha256": token_digest(token(door)) for door in CHECKS.get(role, ())}
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return child(
        "v1",
        "Secret",
        tokens_name(run.name, role),
        run,
        labels=run_labels(run, role),
        parent=run.parent,
        body={"type": "Opaque", "data": data},
    )
