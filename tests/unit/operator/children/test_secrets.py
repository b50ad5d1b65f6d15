"""A server's Secret opens nothing; a client's opens exactly its doors."""

import base64
from typing import Any

from tests.support.children import UID, make_run, make_site

from spade_contracts.tokens import Door, derive_token, token_matches
from spade_operator.children.secrets import token_secrets

SITE = make_site()


def data(**settings: Any) -> dict[str, dict[str, str]]:
    """Secret name → key → text."""
    return {
        secret["metadata"]["name"]: {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
        for secret in token_secrets(make_run(**settings).owner, SITE)
    }


def test_roles_hold_the_keys_of_the_table() -> None:
    assert {name: set(values) for name, values in data().items()} == {
        "mini-sandbox-tokens": {"sandbox-sessions.sha256"},
        "mini-engine-tokens": {"engine-data.sha256", "engine-control.sha256"},
        "mini-learner-tokens": {"engine-control", "learner-control.sha256"},
        "mini-worker-tokens": {"engine-data", "sandbox-sessions"},
    }


def test_clients_open_their_servers_doors() -> None:
    secrets = data()
    pairs = (
        ("mini-worker-tokens", "mini-engine-tokens", Door.ENGINE_DATA),
        ("mini-worker-tokens", "mini-sandbox-tokens", Door.SANDBOX_SESSIONS),
        ("mini-learner-tokens", "mini-engine-tokens", Door.ENGINE_CONTROL),
    )
    for client, server, door in pairs:
        assert token_matches(secrets[client][door], secrets[server][f"{door}.sha256"])


def test_the_operator_opens_the_learners_door() -> None:
    token = derive_token(SITE.installation_key, UID, Door.LEARNER_CONTROL)
    assert token_matches(token, data()["mini-learner-tokens"]["learner-control.sha256"])


def test_a_run_of_the_same_name_has_other_tokens() -> None:
    mine, other = data(), data(uid="another")
    assert all(mine[name][key] != other[name][key] for name in mine for key in mine[name])
