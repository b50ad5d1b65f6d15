"""Which folder a policy is read from."""

from pathlib import Path

from spade_contracts.engine_api import LoadRequest
from spade_contracts.errors import SpadeError
from spade_contracts.manifests import PolicyManifest
from spade_trainer.engine.refusals import Code, Refused
from spade_trainer.store import layout
from spade_trainer.store.manifests import read_policy
from spade_trainer.store.objects import Store, absolute, open_store
from spade_trainer.store.policies import policy_files
from spade_trainer.store.staging import forget_others

BOOT_VERSION = 0
"""What an engine boots with: the one policy that retention never removes. The learner loads what it wants later."""


def boot_folder(store: Store) -> Path:
    """The folder an engine starts from. Raises ManifestMissing before the policy is finished."""
    return policy_files(store, BOOT_VERSION)


def find_policy(store: Store, request: LoadRequest) -> tuple[Path, PolicyManifest]:
    """Folder and manifest of the policy that a load names. From S3 it is copied first, and earlier copies go.

    Raises Refused if it is not that version's folder in this run's storage, or is not finished.
    """
    relative = layout.policy_folder(request.policy_version)
    try:
        named = open_store(request.uri)
        if named.root != absolute(store, relative):
            raise Refused(
                Code.BAD_REQUEST,
                f"{request.uri} is not where policy {request.policy_version} of this run lies ({store.uri}/{relative})",
            )
        kept = {version: layout.policy_folder(version) for version in (BOOT_VERSION, request.policy_version)}
        manifest = read_policy(store, request.policy_version)
        forget_others(store, layout.POLICIES, [folder.rpartition("/")[2] for folder in kept.values()])
        return policy_files(store, request.policy_version), manifest
    except Refused:
        raise
    except SpadeError as error:
        raise Refused(Code.BAD_REQUEST, str(error)) from error
