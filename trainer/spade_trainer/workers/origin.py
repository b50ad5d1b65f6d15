"""Which policy of another run becomes policy 0 (`model.fromRun`), read from that run's storage."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spade_contracts.manifests import PolicyOrigin, RunManifest
from spade_contracts.resources import Reason
from spade_contracts.tasks import OriginTask
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, open_store
from spade_trainer.store.policies import policy_files
from spade_trainer.workers.model_source import Refused

WHERE = "model.fromRun"


@dataclass(frozen=True)
class Start:
    """What a run starts from."""

    model_uri: str
    """The model at the beginning of it all."""
    folder: Path | None
    """Its files; None: the run has them already."""
    origin: PolicyOrigin | None = None
    files: Mapping[str, str] | None = None
    """File name → SHA-256, where it is known what they must be."""


def start_from(task: OriginTask) -> Start:
    """The policy of another run. Raises Refused that says whether run, version or files are missing."""
    store = open_store(task.storage_uri)
    run = manifests.find(store, manifests.run_path(), RunManifest)
    if run is None:
        raise Refused(
            Reason.POLICY_NOT_FOUND,
            WHERE,
            f"its storage holds no run {task.run}: {store.uri}/{layout.RUN} does not exist",
            remedy="Name a run that was prepared, and its claim if that is not its own.",
        )
    version = _version(store, task)
    policy = manifests.read_policy(store, version)
    return Start(
        model_uri=run.model_uri,
        folder=policy_files(store, version),
        origin=PolicyOrigin(run=task.run, policy_version=version, tensors_sha256=policy.tensors_sha256),
        files=policy.files,
    )


def _version(store: Store, task: OriginTask) -> int:
    there = manifests.finished(store, layout.POLICIES, layout.POLICY)
    named = task.policy_version if task.policy_version is not None else task.newest
    if named is None and there:
        return there[-1]
    if named in there:
        return named
    what = f"policy version {named}" if named is not None else "a policy"
    known = f"there are {', '.join(map(str, there))}" if there else "there is none"
    raise Refused(
        Reason.POLICY_NOT_FOUND,
        WHERE,
        f"the storage of run {task.run} does not hold {what} ({known})",
        remedy="Name one of these; spec.retention.policies of that run says how many are kept.",
    )
