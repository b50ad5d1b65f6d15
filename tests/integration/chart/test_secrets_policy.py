"""A run uses Secrets only for authors who could get at them without it."""

import itertools
import json
import time
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.support import run_objects
from tests.support.api_server import ApiServer
from tests.support.pod_settings import EVERYTHING

MESSAGE = "are for those who may read Secrets or create pods in this namespace: ask for that right"
USES: dict[str, dict[str, Any]] = {
    "a variable": {"secretEnvironment": {"TOKEN": {"secret": "judge", "key": "token"}}},
    "a volume": {"volumes": [{"mountPath": "/mnt/key", "secret": {"secretName": "key"}}]},
}
NO_SECRETS = {**EVERYTHING, "secretEnvironment": {}, "volumes": EVERYTHING["volumes"][:4]}
RIGHTS = {
    "author": [("spade.dev", ["spaderuns", "envbatches"], ["create", "get", "patch", "update"])],
    "reader": [("", ["secrets"], ["get"])],
    "maker": [("", ["pods"], ["create"])],
}
counter = itertools.count()


def rights(user: str) -> list[dict[str, Any]]:
    """A Role in `other` with the rights of an author, and those of this user, and its binding."""
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": verbs}
        for group, resources, verbs in (*RIGHTS["author"], *RIGHTS[user])
    ]
    group = "rbac.authorization.k8s.io"
    about = {"name": user, "namespace": "other"}
    return [
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": about, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": about,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": user},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        },
    ]


def run_object(role: str = "workers", settings: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    pods = {role: {"pod": settings or {}}}
    return run_objects.run_object(f"secret{next(counter)}", "other", **pods, **spec)


def pool_object(settings: dict[str, Any]) -> dict[str, Any]:
    spec = {"source": {"programs": "file:///storage/x"}, "storage": {"claimName": "c"}, "pod": settings}
    return {**run_object(), "kind": "EnvBatch", "spec": spec}


def applied(server: ApiServer, user: str, manifest: dict[str, Any]) -> CompletedProcess[str]:
    return server.kubectl("apply", "--as", user, "-f", "-", stdin=json.dumps(manifest))


@pytest.fixture(scope="module")
def authors(installed: ApiServer) -> ApiServer:
    """The chart in an API server, and users with one right each."""
    made = installed.apply(*itertools.chain.from_iterable(rights(user) for user in RIGHTS))
    assert made.returncode == 0, made.stderr
    deadline = time.monotonic() + 30
    while applied(installed, "author", run_object("workers", USES["a volume"])).returncode == 0:
        assert time.monotonic() < deadline, "the admission policy is not enforced"
    return installed


@pytest.mark.parametrize("use", USES)
def test_an_author_without_the_right_is_refused(authors: ApiServer, use: str) -> None:
    for wrong in (*(run_object(role, USES[use]) for role in ("learner", "engine", "workers")), pool_object(USES[use])):
        refused = applied(authors, "author", wrong)
        assert refused.returncode != 0
        assert MESSAGE in refused.stderr


def test_a_bucket_is_opened_with_a_secret_only_for_those_with_the_right(authors: ApiServer) -> None:
    bucket = {"s3": {"uri": "s3://runs/here", "credentialsSecret": "keys"}}
    refused = applied(authors, "author", run_object(storage=bucket))
    assert MESSAGE in refused.stderr
    accepted = applied(authors, "reader", run_object(storage=bucket))
    assert accepted.returncode == 0, accepted.stderr


@pytest.mark.parametrize("user", ["reader", "maker"])
def test_who_gets_at_secrets_anyway_may_use_them(authors: ApiServer, user: str) -> None:
    for whole in (run_object("engine", EVERYTHING), pool_object(EVERYTHING)):
        accepted = applied(authors, user, whole)
        assert accepted.returncode == 0, accepted.stderr


def test_everything_else_is_for_every_author(authors: ApiServer) -> None:
    for whole in (run_object(), run_object("engine", NO_SECRETS), pool_object(NO_SECRETS)):
        accepted = applied(authors, "author", whole)
        assert accepted.returncode == 0, accepted.stderr


def test_a_run_with_secrets_is_suspended_by_any_author_and_given_others_by_none(authors: ApiServer) -> None:
    whole = run_object("workers", USES["a variable"])
    assert applied(authors, "reader", whole).returncode == 0
    suspended = {**whole, "spec": {**whole["spec"], "suspend": "Now"}}
    changed = applied(authors, "author", suspended)
    assert changed.returncode == 0, changed.stderr
    others = [{"TOKEN": {"secret": "another", "key": "token"}}, {"TOKEN": {"secret": "judge", "key": "another"}}]
    for settings in (*({"secretEnvironment": other} for other in others), USES["a volume"]):
        refused = applied(authors, "author", {**whole, "spec": {**whole["spec"], "workers": {"pod": settings}}})
        assert MESSAGE in refused.stderr
