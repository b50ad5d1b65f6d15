"""What builders know of the object they build for."""

from dataclasses import dataclass

from spade_contracts.resources import SpadeRunSpec
from spade_contracts.tasks import RunRef
from spade_operator.children.names import claim_name

STORAGE_MOUNT = "/storage"


@dataclass(frozen=True)
class Parent:
    """The object of ours that owns a child."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True)
class Run:
    """A SpadeRun with its parsed spec."""

    namespace: str
    name: str
    uid: str
    spec: SpadeRunSpec

    @property
    def parent(self) -> Parent:
        """The run as an owner."""
        return Parent("SpadeRun", self.name, self.uid)

    @property
    def claim(self) -> str:
        """The claim that its pods mount."""
        return self.spec.storage.claim_name or claim_name(self.name)

    @property
    def storage_uri(self) -> str:
        """Its folder in run storage, as pods see it."""
        return f"file://{STORAGE_MOUNT}/{self.namespace}/{self.name}"

    @property
    def ref(self) -> RunRef:
        """What tasks say of it."""
        return RunRef(namespace=self.namespace, name=self.name, uid=self.uid, storage_uri=self.storage_uri)
