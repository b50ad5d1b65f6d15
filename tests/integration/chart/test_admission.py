"""Nobody gets a sandbox pod that is more than the operator makes of it; what the operator makes is admitted."""

import json
from collections.abc import Callable
from typing import Any

from tests.support.api_server import ApiServer
from tests.support.children import make_pool, make_run, make_site, pool_workloads, sandbox_pod, workloads
from tests.support.pod_settings import EVERYTHING, PLACEMENT

Pod = dict[str, Any]
Change = Callable[[Pod], None]
CREATE = ("create", "--dry-run=server")
EVERYWHERE = {role: {"pod": EVERYTHING} for role in ("workers", "engine", "learner")} | {"sandbox": {"pod": PLACEMENT}}


def admitted(server: ApiServer, *objects: Pod) -> str:
    """'' if the server takes the objects, else what it says, warnings included."""
    return server.kubectl(*CREATE, "-f", "-", stdin="\n---\n".join(map(json.dumps, objects))).stderr


def in_spec(**fields: Any) -> Change:
    return lambda pod: pod["spec"].update(fields)


def in_container(**fields: Any) -> Change:
    return lambda pod: pod["spec"]["containers"][0].update(fields)


def in_security(**fields: Any) -> Change:
    return lambda pod: pod["spec"]["containers"][0]["securityContext"].update(fields)


def with_volume(source: dict[str, Any], path: str = "", **mount: Any) -> Change:
    """One more volume, mounted where a path is given."""

    def change(pod: Pod) -> None:
        pod["spec"]["volumes"].append({"name": "more", **source})
        if path:
            mounts = pod["spec"]["containers"][0]["volumeMounts"]
            mounts[:] = [one for one in mounts if one["mountPath"] != path]
            mounts.append({"name": "more", "mountPath": path, **mount})

    return change


def with_container(place: str, **fields: Any) -> Change:
    def change(pod: Pod) -> None:
        more = {**pod["spec"]["containers"][0], "name": "more", "ports": [], "volumeMounts": [], **fields}
        for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
            more.pop(probe)
        pod["spec"][place] = [*pod["spec"].get(place, []), more]

    return change


def both(first: Change, second: Change) -> Change:
    def change(pod: Pod) -> None:
        first(pod)
        second(pod)

    return change


def annotated(key: str) -> Change:
    return lambda pod: pod["metadata"].setdefault("annotations", {}).update({key: "x"})


VOLUMES = "sandbox pods must have no volumes but scratch, their token's digest and the probe's targets"
MOUNTS = "sandbox pods must have no mounts but HOME, /tmp, /etc/spade/tokens and /etc/spade/probe"
ALONE = "sandbox pods must have one container and nothing beside it"
PRIVILEGES = "sandbox pods must drop all capabilities and add none"
SCRATCH = {"emptyDir": {"sizeLimit": "1Mi"}}
TOKEN = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}

REFUSED: dict[str, tuple[Change, str]] = {
    "no runtime class": (in_spec(runtimeClassName=None), "sandbox pods must have runtimeClassName gvisor"),
    "another runtime class": (in_spec(runtimeClassName="runc"), "sandbox pods must have runtimeClassName gvisor"),
    "a service account's token": (in_spec(automountServiceAccountToken=True), "automountServiceAccountToken: false"),
    "the default about tokens": (in_spec(automountServiceAccountToken=None), "automountServiceAccountToken: false"),
    "the node's network": (in_spec(hostNetwork=True), "must not share the node's namespaces"),
    "the node's processes": (in_spec(hostPID=True), "must not share the node's namespaces"),
    "the node's IPC": (in_spec(hostIPC=True), "must not share the node's namespaces"),
    "a sidecar": (with_container("containers"), ALONE),
    "a container before": (with_container("initContainers"), ALONE),
    "a sidecar that starts before": (with_container("initContainers", restartPolicy="Always"), ALONE),
    "a folder of the node": (with_volume({"hostPath": {"path": "/"}}), VOLUMES),
    "run storage": (with_volume({"persistentVolumeClaim": {"claimName": "mini-storage"}}), VOLUMES),
    "a token by projection": (both(with_volume(TOKEN), in_spec(serviceAccountName="default")), VOLUMES),
    "another role's tokens": (with_volume({"secret": {"secretName": "mini-worker-tokens"}}), VOLUMES),
    "another ConfigMap": (with_volume({"configMap": {"name": "settings"}}), VOLUMES),
    "a volume of a driver": (with_volume({"csi": {"driver": "example.com"}}), VOLUMES),
    "another mount": (with_volume(SCRATCH, "/mnt/x"), MOUNTS),
    "a mount over the root": (with_volume(SCRATCH, "/opt/spade"), MOUNTS),
    "a mount that the node sees": (with_volume(SCRATCH, "/tmp", mountPropagation="HostToContainer"), MOUNTS),
    "variables of a Secret": (in_container(envFrom=[{"secretRef": {"name": "x"}}]), "must not have environment"),
    "a variable of a Secret": (
        in_container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x", "key": "y"}}}]),
        "must not have environment variables from Secrets",
    ),
    "an added capability": (in_security(capabilities={"drop": ["ALL"], "add": ["NET_ADMIN"]}), PRIVILEGES),
    "kept capabilities": (in_security(capabilities={}), PRIVILEGES),
    "a privileged container": (in_security(privileged=True, allowPrivilegeEscalation=True), PRIVILEGES),
    "more privileges later": (in_security(allowPrivilegeEscalation=True), PRIVILEGES),
    "the default about privileges": (in_security(allowPrivilegeEscalation=None), PRIVILEGES),
    "a root that can be written": (in_security(readOnlyRootFilesystem=False), PRIVILEGES),
    "all of /proc": (
        lambda pod: (in_security(procMount="Unmasked")(pod), in_spec(hostUsers=False)(pod))[0],
        PRIVILEGES,
    ),
    "root": (lambda pod: pod["spec"]["securityContext"].update(runAsNonRoot=False), "must not run as root"),
    "root in the container": (in_security(runAsNonRoot=False), "must not run as root"),
    "a port of the node": (
        in_container(ports=[{"containerPort": 7400, "hostPort": 7400}]),
        "must not open ports of the node",
    ),
    "a device": (in_container(resources={"limits": {"nvidia.com/gpu": "1"}}), "sandbox pods must have no devices"),
    "a device by a claim": (in_spec(resourceClaims=[{"name": "a", "resourceClaimName": "b"}]), "must have no devices"),
    "another gVisor": (annotated("dev.gvisor.flag.network"), "annotations that change gVisor"),
}


def test_nobody_gets_a_sandbox_pod_with_more_in_it(installed: ApiServer) -> None:
    tried = []
    for change, _ in REFUSED.values():
        pod = sandbox_pod("other")
        change(pod)
        tried.append(pod)
    said = dict(zip(REFUSED, installed.refusals(*tried, verb=CREATE), strict=True))
    assert {case: text for case, text in said.items() if REFUSED[case][1] not in text} == {}


def test_nobody_gets_a_container_into_a_sandbox_pod_later(installed: ApiServer) -> None:
    sandbox, other = sandbox_pod("other"), sandbox_pod("other")
    sandbox["metadata"]["name"], other["metadata"]["name"] = "closed", "open"
    other["metadata"]["labels"] = {"spade.dev/role": "worker"}
    made = installed.apply(sandbox, other)
    assert made.returncode == 0, made.stderr
    debug = ("debug", "-n", "other", "--image=example", "--profile=restricted", "--attach=false")
    refused = installed.kubectl(*debug, "pod/closed")
    assert refused.returncode != 0
    assert ALONE in refused.stderr
    assert installed.kubectl(*debug, "pod/open").returncode == 0


def test_other_pods_are_not_the_policys_business(installed: ApiServer) -> None:
    pod = sandbox_pod("other", runtimeClassName=None, hostPID=True, automountServiceAccountToken=True)
    del pod["metadata"]["labels"]["spade.dev/role"]
    assert admitted(installed, pod) == ""


def built(namespace: str) -> dict[str, Pod]:
    """Every workload of a run and of a pool that use every setting there is."""
    site = make_site(
        proxy={"http": "http://192.0.2.1:3128"},
        ca_bundle={"config_map": "roots"},
        run_pods={"labels": {"team": "platform"}, "annotations": {"example.com/bill": "17"}},
        image_pull_secrets=("registry",),
    )
    pool = make_pool(namespace=namespace, pod=EVERYTHING, sandbox={"pod": PLACEMENT})
    of_a_pool = {f"pool-{word}": found for word, found in pool_workloads(pool, site).items()}
    together = make_run(
        namespace=namespace,
        placement="Colocated",
        learner={"pod": EVERYTHING, "deviceClaimTemplate": "gpus"},
        engine={"pod": {"environment": {"A": "b"}}},
    )
    of_one_pod = {"together": workloads(together, site)["learner"]}
    return {**of_a_pool, **of_one_pod, **workloads(make_run(namespace=namespace, **EVERYWHERE), site)}


BUILT = built("runs")


def test_pods_with_every_setting_are_admitted_at_the_restricted_level(installed: ApiServer) -> None:
    templates = {word: manifest["spec"]["template"] for word, manifest in BUILT.items()}
    made = [
        {"apiVersion": "v1", "kind": "Pod", **one, "metadata": {**one["metadata"], "name": word, "namespace": "runs"}}
        for word, one in templates.items()
    ]
    assert admitted(installed, *made) == ""


def test_workloads_with_every_setting_are_taken_as_they_are(installed: ApiServer) -> None:
    assert admitted(installed, *BUILT.values()) == ""
