"""The run whose policy another run starts from, as builders know it."""

from dataclasses import dataclass

from spade_contracts.tasks import OriginTask
from spade_operator.children.owner import STORAGE_MOUNT, Owner
from spade_operator.children.volumes import Volume

ORIGIN_MOUNT = "/origin"


@dataclass(frozen=True)
class Origin:
    """Where a policy is taken from; always of the run's own namespace, because a pod can mount no other claims."""

    run: str
    claim: str | None
    """Of its storage; None: a bucket, the same one as this run's."""
    policy_version: int | None
    """What the spec names."""
    newest: int | None
    """The newest version that is proven, as far as the cluster tells."""

    def task(self, owner: Owner) -> OriginTask:
        """What the preparation Job is told."""
        if self.claim is None:
            uri = f"{owner.storage_uri.rpartition('/')[0]}/{self.run}"
            return OriginTask(run=self.run, storage_uri=uri, policy_version=self.policy_version, newest=self.newest)
        mount = STORAGE_MOUNT if self.claim == owner.claim else ORIGIN_MOUNT
        uri = f"file://{mount}/{owner.namespace}/{self.run}"
        return OriginTask(run=self.run, storage_uri=uri, policy_version=self.policy_version, newest=self.newest)

    def volumes(self, owner: Owner) -> tuple[Volume, ...]:
        """Its storage, read-only; nothing when both runs share one claim or bucket."""
        if self.claim in (owner.claim, None):
            return ()
        claim = {"claimName": self.claim, "readOnly": True}
        return (Volume("origin", {"persistentVolumeClaim": claim}, ORIGIN_MOUNT, read_only=True),)
