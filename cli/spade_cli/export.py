"""`spade export`: a policy of a run as a Hugging Face folder, from storage at hand or through the cluster."""

import re
from pathlib import Path
from typing import Any

from spade_cli.cluster import Run
from spade_cli.storage_pod import MOUNT, StoragePod, image_of, storage_pod
from spade_contracts.errors import InvalidInput, ManifestMissing
from spade_contracts.manifests import PolicyManifest
from spade_trainer.store import layout
from spade_trainer.store.export import Exported, Read, export, missing, stored_policy
from spade_trainer.store.objects import open_store

NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def export_from_storage(source: str, version: int | None, target: str) -> Exported:
    """From a run's folder that this machine sees. Raises what `stored_policy` and `export` raise."""
    uri = source if "://" in source else Path(source).absolute().as_uri()
    manifest, read = stored_policy(open_store(uri), version)
    return export(manifest, read, target)


def export_from_cluster(
    api: Any, run: Run, version: int | None, target: str, *, image: str | None = None, pull_secret: str | None = None
) -> Exported:
    """From the claim of a run, through a pod that mounts it. Without a version, the newest that is proven.

    Raises InvalidInput, with the URI to export from, for a run whose storage is a bucket.
    """
    if (bucket := run.spec.storage.s3) is not None:
        where = f"{bucket.uri}/{run.namespace}/{run.name}"
        remedy = f"Export from {where}, with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment" + (
            f" and AWS_ENDPOINT_URL_S3={bucket.endpoint_url}." if bucket.endpoint_url is not None else "."
        )
        raise InvalidInput("source", f"the storage of {run.name} is a bucket, which no pod mounts", remedy=remedy)
    with storage_pod(api, run, image_of(run, image), pull_secret) as pod:
        manifest, read = pod_policy(pod, run, version)
        return export(manifest, read, target)


def pod_policy(pod: StoragePod, run: Run, version: int | None) -> tuple[PolicyManifest, Read]:
    """A finished policy in the claim that a pod mounts. Raises ManifestMissing, which says what there is."""
    root = f"{MOUNT}/{run.namespace}/{run.name}"
    wanted = run.status.policy_version if version is None else version
    there = [int(found) for found in pod.names(f"{root}/{layout.POLICIES}") if found.isdigit()]
    if wanted is None or wanted not in there:
        raise ManifestMissing(missing(f"the claim of SpadeRun {run.namespace}/{run.name}", wanted, there))
    folder = f"{root}/{layout.policy_folder(wanted)}"
    if layout.POLICY not in pod.names(folder):
        raise ManifestMissing(missing(folder, wanted, [found for found in there if found != wanted]))
    content = b"".join(pod.read(f"{folder}/{layout.POLICY}"))
    return PolicyManifest.model_validate_json(content), lambda file: pod.read(f"{folder}/{file}")


def is_name(source: str) -> bool:
    """Whether a source is the name of a run, and no place. Raises InvalidInput for what is neither."""
    if "://" in source or "/" in source:
        return False
    if not NAME.fullmatch(source):
        raise InvalidInput("source", f"{source!r} is neither a run's name nor a folder", remedy="Write ./FOLDER.")
    return True
