"""What a user has under a name that the operator wants stays as it is, outlives the run, and is named in its status."""

import json

import pytest
from tests.integration.operator.conftest import Stage, condition
from tests.integration.operator.test_run_life import complete

from spade_operator.kube import Conflict, Object
from spade_operator.records import Kind

POD = {"containers": [{"name": "own", "image": "own"}]}
CHOSEN = {"matchLabels": {"own": "yes"}}
THEIRS: dict[Kind, tuple[str, str, Object]] = {
    Kind.CONFIG_MAP: ("v1", "mini-probe", {"data": {"own": "data"}}),
    Kind.SECRET: ("v1", "mini-worker-tokens", {"data": {"own": "ZGF0YQ=="}}),
    Kind.SERVICE: ("v1", "mini-sandbox", {"spec": {"clusterIP": "None", "selector": {"own": "yes"}}}),
    Kind.NETWORK_POLICY: ("networking.k8s.io/v1", "mini-closed", {"spec": {"podSelector": CHOSEN}}),
    Kind.DEPLOYMENT: ("apps/v1", "mini-sandbox", {"spec": {
        "replicas": 0, "selector": CHOSEN, "template": {"metadata": {"labels": {"own": "yes"}}, "spec": POD}}}),
}  # fmt: skip


async def stored(stage: Stage, kind: Kind) -> Object:
    """The user's object, without what the API server's own controllers write."""
    found = await stage.kube.get(kind, stage.namespace, THEIRS[kind][1])
    meta = {key: found["metadata"].get(key) for key in ("uid", "labels", "annotations", "ownerReferences")}
    return {"metadata": meta} | {key: found.get(key) for key in ("data", "spec", "type")}


@pytest.mark.parametrize("kind", list(THEIRS))
async def test_object_of_a_user_is_not_altered_and_the_run_goes_on_when_it_is_gone(stage: Stage, kind: Kind) -> None:
    version, name, body = THEIRS[kind]
    meta = {"name": name, "namespace": stage.namespace}
    await stage.kube.create({"apiVersion": version, "kind": str(kind), "metadata": meta, **body})
    before = await stored(stage, kind)
    await stage.create_run(rollouts=1)
    async with stage.operator():

        def told(run: Object) -> bool:
            messages = [condition(run, one)[2] for one in ("Accepted", "Progressing")]
            return any(name in message and "rename or remove it" in message for message in messages)

        await stage.until("it is named", told)
        assert await stored(stage, kind) == before
        await stage.kube.delete(kind, stage.namespace, name, uid=before["metadata"]["uid"])
        await stage.until("completion", complete, 90)


async def test_apply_makes_what_is_not_there_and_nothing_else_if_it_is_for_a_new_object(stage: Stage) -> None:
    meta = {"name": "one", "namespace": stage.namespace}
    manifest: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}}
    made = await stage.kube.apply(manifest, uid="")
    (entry,) = made["metadata"]["managedFields"]
    assert entry["operation"] == "Apply", "fields that a later apply leaves out go"
    for uid in ("", "00000000-0000-4000-8000-000000000000"):
        with pytest.raises(Conflict):
            await stage.kube.apply(manifest | {"data": {"a": "c"}}, uid=uid)
    assert (await stage.kube.get(Kind.CONFIG_MAP, stage.namespace, "one"))["data"] == {"a": "b"}
    again = await stage.kube.apply(manifest | {"data": {"d": "e"}}, uid=made["metadata"]["uid"])
    assert again["data"] == {"d": "e"}, json.dumps(again)
    with pytest.raises(Conflict):
        await stage.kube.apply(manifest | {"metadata": meta | {"name": "two"}}, uid=made["metadata"]["uid"])
    assert len(await stage.items(Kind.CONFIG_MAP)) == 1
