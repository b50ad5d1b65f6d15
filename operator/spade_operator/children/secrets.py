"""One Secret a role, with the tokens it presents and the digests it checks (design §11, spade_contracts.tokens)."""

import base64

from spade_contracts.labels import Role
from spade_contracts.tokens import Door, derive_token, token_digest
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import tokens_name
from spade_operator.children.owner import Owner
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
TYPE = "spade.dev/tokens"
"""No Secret of others has it, so none is ever written over: the API server lets nobody change a Secret's type."""
ROLES = tuple(role for role in Role if role in PRESENTS or role in CHECKS)
"""Roles that have a Secret."""


def token_secrets(owner: Owner, site: Site) -> list[Manifest]:
    """The Secrets of the owner's roles. A server's holds digests only, so what breaks into it can open nothing."""
    return [_secret(owner, site, role) for role in ROLES if role in owner.roles]


def _secret(owner: Owner, site: Site, role: Role) -> Manifest:
    def token(door: Door) -> str:
        return derive_token(site.installation_key, owner.uid, door)

    doors = {door for server, checked in CHECKS.items() if server in owner.roles for door in checked}
    values = {str(door): token(door) for door in PRESENTS.get(role, ()) if door in doors}
    values |= {f"{door}.sha256": token_digest(token(door)) for door in CHECKS.get(role, ())}
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return child(
        "v1",
        "Secret",
        tokens_name(owner.name, role),
        owner,
        labels=run_labels(owner, role),
        parent=owner.parent,
        body={"type": TYPE, "data": data},
    )
