"""The ground that pods stand on: tokens, network policies and names, there before the first pod."""

from spade_operator.children.policies import network_policies
from spade_operator.children.secrets import token_secrets
from spade_operator.children.services import services
from spade_operator.reconcile.observe import AnyPicture
from spade_operator.reconcile.steps import Action


def ground(seen: AnyPicture) -> tuple[Action, ...]:
    """Applies for what is missing of it, or was changed by others."""
    owner, site = seen.owner, seen.site
    return (
        *seen.rendered(token_secrets, owner, site),
        *seen.rendered(network_policies, owner, site),
        *seen.rendered(services, owner),
    )
