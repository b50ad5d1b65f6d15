"""What builders know of the object they build for: a SpadeRun, or an EnvBatch without one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from spade_contracts.labels import Role
from spade_contracts.resources import EnvBatchSpec, SpadeRunSpec
from spade_contracts.resources.pods import PodSettings
from spade_contracts.resources.run_parts import Fabric, Placement, SandboxSpec, StorageSpec
from spade_contracts.tasks import RunRef
from spade_operator.children.names import claim_name, pool_family
from spade_operator.queueing import Place

STORAGE_MOUNT = "/storage"
STAGING_MOUNT = "/staging"
POOL_ROLES = frozenset({Role.SANDBOX, Role.BEACON, Role.WORKER})
WORKER_RESTARTS = 5
"""Of a stand-alone EnvBatch that does not say."""


@dataclass(frozen=True)
class Parent:
    """The object of ours that owns a child."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True)
class Owner:
    """An object of ours that has pods, tokens, policies and storage of its own."""

    namespace: str
    name: str
    """Of the family: label and beginning of every child's name."""
    uid: str
    parent: Parent
    roles: frozenset[Role]
    """Roles that it ever has pods of."""
    sandbox: SandboxSpec
    storage: StorageSpec
    worker_pod: PodSettings
    worker_restarts: int
    """Lost worker pods in one Job before it fails."""
    fabric: Fabric = Fabric.POD_NETWORK
    """Network of its learner."""
    placement: Placement = Placement.DISAGGREGATED
    """Where its engines run."""
    places: Mapping[Role, Place] = field(default_factory=dict)
    """Where Kueue wants the pods of roles, where it has a say."""

    @property
    def engine_role(self) -> Role:
        """Role of the pods that its engines are in."""
        return Role.LEARNER if self.placement is Placement.COLOCATED else Role.ENGINE

    @property
    def claim(self) -> str | None:
        """The claim that its pods mount; None: its storage is a bucket."""
        if self.storage.s3 is not None:
            return None
        return self.storage.claim_name or claim_name(self.name)

    @property
    def storage_uri(self) -> str:
        """Its folder in run storage, as pods see it."""
        if self.storage.s3 is not None:
            return f"{self.storage.s3.uri}/{self.namespace}/{self.name}"
        return f"file://{STORAGE_MOUNT}/{self.namespace}/{self.name}"

    @property
    def ref(self) -> RunRef:
        """What tasks say of it."""
        return RunRef(namespace=self.namespace, name=self.name, uid=self.uid, storage_uri=self.storage_uri)


@dataclass(frozen=True)
class Run:
    """A SpadeRun with its parsed spec."""

    namespace: str
    name: str
    uid: str
    spec: SpadeRunSpec
    places: Mapping[Role, Place] = field(default_factory=dict)
    """As of its owner."""

    @property
    def owner(self) -> Owner:
        """The run as builders of shared roles see it."""
        return Owner(
            namespace=self.namespace,
            name=self.name,
            uid=self.uid,
            parent=Parent("SpadeRun", self.name, self.uid),
            roles=frozenset(Role),
            sandbox=self.spec.sandbox,
            storage=self.spec.storage,
            worker_pod=self.spec.workers.pod,
            worker_restarts=self.spec.workers.restarts,
            fabric=self.spec.learner.fabric,
            placement=self.spec.placement,
            places=self.places,
        )


def pool_owner(namespace: str, name: str, uid: str, spec: EnvBatchSpec) -> Owner:
    """A stand-alone EnvBatch as builders see it."""
    claim = spec.storage.claim_name if spec.storage is not None else None
    return Owner(
        namespace=namespace,
        name=pool_family(name),
        uid=uid,
        parent=Parent("EnvBatch", name, uid),
        roles=POOL_ROLES,
        sandbox=spec.sandbox or SandboxSpec(),
        storage=StorageSpec(claim_name=claim),
        worker_pod=spec.pod or PodSettings(),
        worker_restarts=WORKER_RESTARTS if spec.restarts is None else spec.restarts,
    )
