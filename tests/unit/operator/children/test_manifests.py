"""Every child is labelled, owned and marked with the digest of its content; same input, same bytes."""

import json

import pytest
from tests.support.children import UID, all_children, make_run, make_site

from spade_contracts import labels as keys
from spade_operator.children.manifests import Manifest


def children() -> dict[str, Manifest]:
    return {f"{m['kind']}/{m['metadata']['name']}": m for m in all_children(make_run(), make_site())}


CHILDREN = children()


def test_same_input_same_bytes() -> None:
    assert json.dumps(CHILDREN) == json.dumps(children())


def test_no_two_children_share_a_name() -> None:
    assert len(CHILDREN) == len(all_children(make_run(), make_site()))


@pytest.mark.parametrize("name", CHILDREN)
def test_every_child_belongs_to_its_run(name: str) -> None:
    manifest = CHILDREN[name]
    metadata = manifest["metadata"]
    assert metadata["namespace"] == "default"
    assert metadata["labels"][keys.RUN] == "mini"
    if manifest["kind"] == "PersistentVolumeClaim":
        assert "ownerReferences" not in metadata
        assert keys.RUN_UID not in metadata["labels"]
        return
    (owner,) = metadata["ownerReferences"]
    assert metadata["labels"][keys.RUN_UID] == UID
    assert owner["controller"]
    assert not owner["blockOwnerDeletion"]
    expected = {"mini-c0001-design-a0": "batch-uid", "mini-r0003-play-a0": "rollout-uid"}
    assert owner["uid"] == expected.get(metadata["name"], UID)


@pytest.mark.parametrize("name", CHILDREN)
def test_the_digest_tells_every_change_of_content(name: str) -> None:
    other_run = {f"{m['kind']}/{m['metadata']['name']}": m for m in all_children(make_run(uid="another"), make_site())}
    digest = CHILDREN[name]["metadata"]["annotations"][keys.HASH_ANNOTATION]
    other = other_run[name]["metadata"]["annotations"][keys.HASH_ANNOTATION]
    # Only the retained claim is the same for the next run of this name.
    assert (digest == other) == name.startswith("PersistentVolumeClaim")
