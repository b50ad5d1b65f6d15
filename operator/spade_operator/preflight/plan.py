"""What a run's pods will ask of the cluster, read from the very manifests that the operator would make."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from spade_contracts.labels import Role
from spade_contracts.resources import RolloutJobSpec, SpadeRunSpec
from spade_contracts.resources.run_parts import PACKAGES, Placement
from spade_contracts.resources.volumes import HUB_MOUNT
from spade_operator.children.beacon import beacon_deployment
from spade_operator.children.engine import engine_deployment
from spade_operator.children.learner import learner_job
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import targets_name, tokens_name
from spade_operator.children.owner import Parent, Run
from spade_operator.children.play import play_job
from spade_operator.children.prepare import prepare_job
from spade_operator.children.sandbox import sandbox_deployment
from spade_operator.children.site import Site
from spade_operator.preflight.outside import outside
from spade_operator.preflight.surroundings import Amounts, quantities

CLAIM_VOLUME = "persistentVolumeClaim"


@dataclass(frozen=True)
class Pods:
    """The pods of one role, all alike."""

    role: Role
    count: int
    """So many are needed for the run to go on."""
    most: int
    """So many there may be."""
    spec: Manifest
    """Of one of them."""

    @property
    def requests(self) -> Amounts:
        """What one of them requests, over its containers; a limit without a request is one."""
        return _sum(quantities({**asked["limits"], **asked["requests"]}) for asked in self._resources)

    @property
    def limits(self) -> Amounts:
        """What one of them is limited to."""
        return _sum(quantities(asked["limits"]) for asked in self._resources)

    @property
    def images(self) -> tuple[str, ...]:
        """Of its containers."""
        return tuple(container["image"] for container in self.spec["containers"])

    def states(self, kind: str, resource: str) -> bool:
        """Whether each container names its `requests` or `limits` of a resource; a limit is a request too."""
        return all(resource in asked["limits"] or resource in asked[kind] for asked in self._resources)

    @property
    def _resources(self) -> list[Manifest]:
        return [container["resources"] for container in self.spec["containers"]]

    def mounts_claim(self, claim: str | None) -> bool:
        """Whether it mounts this claim."""
        if claim is None:
            return False
        return any(volume.get(CLAIM_VOLUME, {}).get("claimName") == claim for volume in self.spec["volumes"])


@dataclass(frozen=True)
class Room:
    """A volume of a stated size."""

    name: str
    size: Decimal
    """Bytes."""
    remedy: str


@dataclass(frozen=True)
class Plan:
    """All pods of a run at work, and the preparation's, which is gone before the others come."""

    namespace: str
    name: str
    pods: tuple[Pods, ...]
    prepare: Pods
    claim: str | None
    """Of run storage; None: it is a bucket."""
    makes_claim: bool
    """The operator makes it, unless it is there."""
    storage_class: str | None
    shared_storage: bool
    """Several nodes may mount it."""
    storage_size: Decimal
    runtime_class: str
    pull_secrets: tuple[str, ...]
    bucket_secret: str = ""
    """Opens the bucket of run storage."""
    ca_bundle: str = ""
    """ConfigMap with the certificates that pods trust."""
    real_model: str = ""
    """URI of a model of which the run begins, unless it is one that is shipped."""
    rooms: tuple["Room", ...] = ()
    """Where the model's weights must fit."""
    outside: tuple[str, ...] = ()
    """What the run must reach beyond its own pods, in words."""
    closed: bool = False
    """The installation lets no run reach anything outside."""

    @property
    def all_pods(self) -> tuple[Pods, ...]:
        """The preparation's too."""
        return self.prepare, *self.pods

    def field_of(self, name: str) -> str:
        """Where the name of a Secret or ConfigMap was written."""
        if name == self.bucket_secret:
            return "spec.storage.s3.credentialsSecret"
        if name in self.pull_secrets:
            return "imagePullSecrets of the chart's values"
        if name == self.ca_bundle:
            return "caBundle.configMap of the chart's values"
        return "the run's pod settings (secretEnvironment, volumes)"

    def secrets(self) -> dict[str, set[str]]:
        """Secrets that must be there → keys that must be in them; those that the operator makes are left out."""
        made = {tokens_name(self.name, role) for role in Role}
        wanted: dict[str, set[str]] = {name: set() for name in self.pull_secrets}
        for name, key in _named(self.all_pods, "secretKeyRef", "secret", "secretName"):
            if name not in made:
                wanted.setdefault(name, set()).update(key)
        return wanted

    def config_maps(self) -> dict[str, set[str]]:
        """ConfigMaps that must be there → keys that must be in them, in the same way."""
        wanted: dict[str, set[str]] = {}
        for name, key in _named(self.all_pods, "configMapKeyRef", "configMap", "name"):
            if name != targets_name(self.name):
                wanted.setdefault(name, set()).update(key)
        return wanted

    def claims(self) -> tuple[str, ...]:
        """Claims that must be there, but for one that the operator makes."""
        found = {
            volume[CLAIM_VOLUME]["claimName"]
            for pods in self.all_pods
            for volume in pods.spec["volumes"]
            if CLAIM_VOLUME in volume
        }
        return tuple(sorted(found - ({self.claim} if self.makes_claim else set())))

    def priority_classes(self) -> dict[str, list[Role]]:
        """Priority classes → roles that name them."""
        wanted: dict[str, list[Role]] = {}
        for pods in self.all_pods:
            if name := pods.spec.get("priorityClassName"):
                wanted.setdefault(name, []).append(pods.role)
        return wanted


def plan_of(run: Run, site: Site) -> Plan:
    """The plan of a run. Raises InvalidInput when the spec does not resolve to settings."""
    spec, owner = run.spec, run.owner
    workers = max(spec.workers.design, spec.workers.play)
    plays = RolloutJobSpec(run=run.name, rollout=0, cycle=0, policy_version=0, workers=workers)
    (prepare,) = prepare_job(run, site)
    (sandbox,) = sandbox_deployment(owner, site, None)
    (beacon,) = beacon_deployment(owner, site)
    # Elsewhere an engine is a container of the learner's pod.
    apart = spec.placement is Placement.DISAGGREGATED
    engines = engine_deployment(run, site, spec.engine.replicas) if apart else []
    (learner,) = learner_job(run, site, 0)
    (worker,) = play_job(run, Parent("RolloutJob", run.name, ""), plays, site, 0)
    nodes, replicas = spec.learner.nodes, spec.engine.replicas
    return Plan(
        run.namespace,
        run.name,
        (
            Pods(Role.SANDBOX, spec.sandbox.min_pods, spec.sandbox.max_pods, _pod(sandbox)),
            Pods(Role.BEACON, 1, 1, _pod(beacon)),
            *(Pods(Role.ENGINE, replicas, replicas, _pod(engine)) for engine in engines),
            Pods(Role.LEARNER, nodes, nodes, _pod(learner)),
            Pods(Role.WORKER, workers, workers, _pod(worker)),
        ),
        Pods(Role.PREPARE, 1, 1, _pod(prepare)),
        claim=owner.claim,
        makes_claim=owner.claim is not None and spec.storage.claim_name is None,
        storage_class=spec.storage.storage_class_name,
        shared_storage=spec.storage.access_mode == "ReadWriteMany",
        storage_size=_bytes(spec.storage.size),
        runtime_class=site.sandbox_runtime_class,
        pull_secrets=site.image_pull_secrets,
        bucket_secret=spec.storage.s3.credentials_secret if spec.storage.s3 is not None else "",
        ca_bundle=site.ca_bundle.config_map,
        real_model=_real_model(spec),
        rooms=_rooms(spec, _pod(prepare)),
        outside=outside(spec),
        closed=site.manage_network_policies and not site.egress_cidrs and not site.egress_pods,
    )


def _real_model(spec: SpadeRunSpec) -> str:
    return spec.model.uri if spec.model.uri is not None and spec.model.uri not in PACKAGES else ""


def _rooms(spec: SpadeRunSpec, prepare: Manifest) -> tuple[Room, ...]:
    """Rooms for the weights: what downloads them, and what keeps policy 0."""
    found = []
    if spec.model.revision is not None and all(one.mount_path != HUB_MOUNT for one in spec.workers.pod.volumes):
        size = next(one["emptyDir"]["sizeLimit"] for one in prepare["volumes"] if one["name"] == "home")
        remedy = f"Mount a larger volume at {HUB_MOUNT}, with readOnly: false, in spec.workers.pod.volumes."
        found.append(Room("The preparation's scratch volume", _bytes(size), remedy))
    if spec.storage.s3 is not None:
        found.append(Room("A pod's staging", _bytes(spec.storage.staging_size), "Raise spec.storage.stagingSize."))
    elif spec.storage.claim_name is None:
        found.append(Room("Run storage", _bytes(spec.storage.size), "Write a larger spec.storage.size."))
    return tuple(found)


def _bytes(size: str) -> Decimal:
    return quantities({"size": size})["size"]


def total(pods: tuple[Pods, ...], *, most: bool = False) -> Amounts:
    """What all of them request together, the pods themselves among it."""
    result: dict[str, Decimal] = {}
    for one in pods:
        number = one.most if most else one.count
        for name, amount in (*one.requests.items(), ("pods", Decimal(1))):
            result[name] = result.get(name, Decimal(0)) + amount * number
    return result


def _sum(parts: Iterable[Amounts]) -> Amounts:
    result: dict[str, Decimal] = {}
    for amounts in parts:
        for name, amount in amounts.items():
            result[name] = result.get(name, Decimal(0)) + amount
    return result


def _pod(workload: Manifest) -> Manifest:
    spec: Manifest = workload["spec"]["template"]["spec"]
    return spec


def _named(all_pods: tuple[Pods, ...], reference: str, volume: str, name: str) -> Iterator[tuple[str, set[str]]]:
    """Objects named by variables and volumes, with the keys that are read of them."""
    for pods in all_pods:
        for container in pods.spec["containers"]:
            for variable in container["env"]:
                found = variable.get("valueFrom", {}).get(reference)
                if found and not found.get("optional"):
                    yield found["name"], {found["key"]}
        for one in pods.spec["volumes"]:
            if found := one.get(volume):
                yield found[name], {item["key"] for item in found.get("items") or []}
