"""The claim of run storage, or what pods are told of its bucket. A claim has no owner: results outlive their run."""

from collections.abc import Mapping

from spade_contracts.labels import RUN_UID
from spade_contracts.resources.s3 import ACCESS_KEY, SECRET_KEY, SESSION_TOKEN
from spade_contracts.tasks import STAGING
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import claim_name
from spade_operator.children.owner import STAGING_MOUNT, Owner


def storage_claim(owner: Owner) -> list[Manifest]:
    """The claim that the operator makes, or nothing when the owner names an existing one or a bucket."""
    wanted = owner.storage
    if wanted.claim_name is not None or wanted.s3 is not None:
        return []
    spec: Manifest = {
        "accessModes": [str(wanted.access_mode)],
        "resources": {"requests": {"storage": wanted.size}},
    }
    if wanted.storage_class_name is not None:
        spec["storageClassName"] = wanted.storage_class_name
    # It serves the next run of this name too, so no UID is on it.
    labels = {key: value for key, value in run_labels(owner).items() if key != RUN_UID}
    name = claim_name(owner.name)
    return [child("v1", "PersistentVolumeClaim", name, owner, labels=labels, parent=None, body={"spec": spec})]


def storage_environment(owner: Owner) -> dict[str, str]:
    """What a pod's clients of S3 read from their environment, as those of AWS do; empty for a claim."""
    s3 = owner.storage.s3
    if s3 is None:
        return {}
    endpoint = {"AWS_ENDPOINT_URL_S3": s3.endpoint_url} if s3.endpoint_url is not None else {}
    return {STAGING: STAGING_MOUNT, "AWS_DEFAULT_REGION": s3.region, "AWS_EC2_METADATA_DISABLED": "true"} | endpoint


def storage_secrets(owner: Owner) -> Mapping[str, Manifest]:
    """Variables that a pod takes from the bucket's Secret: name → secretKeyRef; empty for a claim."""
    s3 = owner.storage.s3
    if s3 is None:
        return {}
    named = {key: {"name": s3.credentials_secret, "key": key} for key in (ACCESS_KEY, SECRET_KEY)}
    return named | {SESSION_TOKEN: {"name": s3.credentials_secret, "key": SESSION_TOKEN, "optional": True}}
