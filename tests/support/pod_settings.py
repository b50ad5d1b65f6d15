"""Pod settings that are taken and that are refused, for the models and for the API server alike."""

from typing import Any

PLACEMENT: dict[str, Any] = {
    "resources": {"requests": {"cpu": "2"}, "limits": {"memory": "4Gi"}},
    "nodeSelector": {"example.com/pool": "gpu"},
    "tolerations": [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "value": "rl"},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
    ],
    "affinity": {
        "nodeAffinity": {
            "required": [
                {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["H100", "H200"]},
                {"key": "example.com/broken", "operator": "DoesNotExist"},
                {"key": "nvidia.com/gpu.count", "operator": "Gt", "values": ["3"]},
            ],
            "preferred": [
                {
                    "weight": 10,
                    "matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["a"]}],
                }
            ],
        },
        "podAffinity": {
            "preferred": [
                {
                    "weight": 5,
                    "term": {"topologyKey": "kubernetes.io/hostname", "matchLabels": {"spade.dev/role": "engine"}},
                }
            ]
        },
        "podAntiAffinity": {
            "required": [{"topologyKey": "kubernetes.io/hostname", "matchLabels": {"app": "noisy"}}],
        },
    },
    "topologySpread": [
        {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"},
        {"topologyKey": "kubernetes.io/hostname"},
    ],
    "priorityClassName": "training",
}
"""Everything that pods of every role take."""
ADDITIONS: dict[str, Any] = {
    "labels": {"team": "rl", "example.com/cost-centre": "17"},
    "annotations": {
        "example.com/note": "any text: of any form, with spaces",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    },
    "environment": {"NCCL_SOCKET_IFNAME": "eth1", "NCCL_DEBUG": "INFO", "CUDA_DEVICE_MAX_CONNECTIONS": "1"},
    "secretEnvironment": {"SPADE_JUDGE_API_KEY": {"secret": "judge", "key": "token"}},
    "volumes": [
        {"mountPath": "/mnt/models", "persistentVolumeClaim": {"claimName": "models"}},
        {"mountPath": "/mnt/results", "persistentVolumeClaim": {"claimName": "results"}, "readOnly": False},
        {"mountPath": "/mnt/scratch", "emptyDir": {"sizeLimit": "10Gi"}},
        {"mountPath": "/mnt/settings/nested", "configMap": {"name": "settings"}},
        {"mountPath": "/mnt/certificates", "secret": {"secretName": "certificates"}},
    ],
}
"""Everything that pods of trusted roles take beside."""
EVERYTHING = {**PLACEMENT, **ADDITIONS}


def volume(path: str, **source: Any) -> dict[str, Any]:
    """Settings with one volume of scratch space, or of another source."""
    return {"volumes": [{"mountPath": path, **(source or {"emptyDir": {"sizeLimit": "1Gi"}})}]}


def required(**expression: Any) -> dict[str, Any]:
    """Settings with one demand on nodes."""
    return {"affinity": {"nodeAffinity": {"required": [{"key": "a", **expression}]}}}


CODE = "because they change which code or device a pod uses"
TRUST = "because they change whom a pod talks to and trusts"
OURS = "because the operator sets these itself: use other names"
IDENTITY = "because roles, network policies and Kubernetes itself go by them: use a domain of your own"
MESHES = "because the installation decides about meshes: use mesh.optOut"
SECRETS = "because these hold tokens of runs or the installation's key: use a Secret of your own"

BAD_PLACEMENT: dict[str, tuple[dict[str, Any], str]] = {
    "a toleration of every value with a value": (
        {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
        "a toleration with operator Exists has no value: remove value, or write operator: Equal",
    ),
    "seconds for a taint that evicts nobody": (
        {"tolerations": [{"key": "a", "value": "b", "effect": "NoSchedule", "tolerationSeconds": 3}]},
        "tolerationSeconds is for effect NoExecute",
    ),
    "In without values": (required(operator="In"), "operators In and NotIn need values"),
    "Exists with values": (required(operator="Exists", values=["x"]), "operators Exists and DoesNotExist have no"),
    "Gt with a word": (required(operator="Gt", values=["many"]), "operators Gt and Lt compare with one whole number"),
    "Lt with two numbers": (required(operator="Lt", values=["1", "2"]), "operators Gt and Lt compare with one whole"),
    "a preference that does not fit": (
        {
            "affinity": {
                "nodeAffinity": {"preferred": [{"weight": 1, "matchExpressions": [{"key": "a", "operator": "NotIn"}]}]}
            }
        },
        "operators In and NotIn need values",
    ),
    "a spread over one place twice": (
        {"topologySpread": [{"topologyKey": "zone"}, {"topologyKey": "zone", "maxSkew": 2}]},
        "topologySpread names a topologyKey twice: use each once",
    ),
    "a priority of the system's": (
        {"priorityClassName": "system-node-critical"},
        "priority classes of the system are not for runs: use one of your cluster's own",
    ),
}
"""Settings of every role that a rule refuses, and what it says."""
BAD_ADDITIONS: dict[str, tuple[dict[str, Any], str]] = {
    "a forged role": ({"labels": {"spade.dev/role": "sandbox"}}, IDENTITY),
    "a forged application": ({"labels": {"app.kubernetes.io/name": "other"}}, IDENTITY),
    "a forged Job": ({"labels": {"batch.kubernetes.io/job-name": "other"}}, IDENTITY),
    "a label of a subdomain": ({"labels": {"more.spade.dev/x": "y"}}, IDENTITY),
    "a forged task": ({"annotations": {"spade.dev/task": "{}"}}, IDENTITY),
    "a device by annotation": ({"annotations": {"cdi.k8s.io/gpu": "nvidia.com/gpu=all"}}, IDENTITY),
    "no AppArmor": ({"annotations": {"container.apparmor.security.beta.kubernetes.io/worker": "unconfined"}}, IDENTITY),
    "a setting of CRI-O": ({"annotations": {"devices.crio.io/worker": "/dev/kvm"}}, "because the container runtime"),
    "a sidecar by label": ({"labels": {"sidecar.istio.io/inject": "true"}}, MESHES),
    "a sidecar by annotation": ({"annotations": {"linkerd.io/inject": "enabled"}}, MESHES),
    "another home": ({"environment": {"HOME": "/storage"}}, OURS),
    "another rank": ({"environment": {"RANK": "0"}}, OURS),
    "a setting of ours": ({"environment": {"SPADE_TASK": "/mnt/task"}}, OURS),
    "a key for all to read": ({"environment": {"SPADE_JUDGE_API_KEY": "abc"}}, OURS),
    "another path of programs": ({"environment": {"PATH": "/mnt/bin"}}, CODE),
    "a preloaded library": ({"environment": {"LD_PRELOAD": "/mnt/x.so"}}, CODE),
    "other libraries": ({"environment": {"LD_LIBRARY_PATH": "/mnt"}}, CODE),
    "other modules": ({"environment": {"PYTHONPATH": "/mnt"}}, CODE),
    "a plugin of vLLM": ({"environment": {"VLLM_PLUGINS": "x"}}, CODE),
    "a plugin of NCCL": ({"environment": {"NCCL_TUNER_PLUGIN": "/mnt/x.so"}}, CODE),
    "the node's other GPUs": ({"environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}, CODE),
    "another proxy": ({"environment": {"https_proxy": "http://192.0.2.1"}}, TRUST),
    "other certificates": ({"environment": {"SSL_CERT_FILE": "/mnt/ca.crt"}}, TRUST),
    "a secret path of programs": ({"secretEnvironment": {"PATH": {"secret": "a", "key": "b"}}}, CODE),
    "a variable twice": (
        {"environment": {"A": "1"}, "secretEnvironment": {"A": {"secret": "a", "key": "b"}}},
        "environment and secretEnvironment name the same variable: use each name once",
    ),
    "another role's token as a variable": (
        {"secretEnvironment": {"A": {"secret": "mini-learner-tokens", "key": "engine-control"}}},
        SECRETS,
    ),
    "another role's token as a file": (volume("/mnt/x", secret={"secretName": "mini-worker-tokens"}), SECRETS),
    "the installation's key": (volume("/mnt/x", secret={"secretName": "spade-installation-key"}), SECRETS),
    "a volume without a source": (volume("/mnt/x", readOnly=True), "a volume has exactly one source: write one of"),
    "a volume with two sources": (
        volume("/mnt/x", emptyDir={"sizeLimit": "1Gi"}, configMap={"name": "a"}),
        "a volume has exactly one source: write one of",
    ),
    "a folder twice": (
        {"volumes": [volume("/mnt/x")["volumes"][0], volume("/mnt/x")["volumes"][0]]},
        "volumes name a mountPath twice: use each once",
    ),
    "scratch space of nothing": (volume("/mnt/x", emptyDir={"sizeLimit": 0}), "a size lies between 1Mi and 1Pi"),
    "scratch space of a thousandth": (volume("/mnt/x", emptyDir={"sizeLimit": "5m"}), "a size lies between"),
    "a Secret to write to": (
        volume("/mnt/x", secret={"secretName": "a"}, readOnly=False),
        "a configMap or secret is read-only: remove readOnly, or write true",
    ),
}
"""Settings of trusted roles that a rule refuses, and what it says."""
OUT_OF_BOUNDS: dict[str, tuple[dict[str, Any], str]] = {
    "a toleration of everything": ({"tolerations": [{"operator": "Exists"}]}, "tolerations[0].key"),
    "a key that is none": ({"tolerations": [{"key": "not a key"}]}, "tolerations[0].key"),
    "an unknown effect": ({"tolerations": [{"key": "a", "effect": "Never"}]}, "tolerations[0].effect"),
    "too many tolerations": ({"tolerations": [{"key": f"k{n}"} for n in range(17)]}, "tolerations"),
    "an unknown comparison": (required(operator="Like", values=["x"]), "affinity.nodeAffinity.required[0].operator"),
    "a weight of nothing": (
        {"affinity": {"nodeAffinity": {"preferred": [{"weight": 0, "matchExpressions": []}]}}},
        "affinity.nodeAffinity.preferred[0].weight",
    ),
    "a spread of nothing": ({"topologySpread": [{"topologyKey": "a", "maxSkew": 0}]}, "topologySpread[0].maxSkew"),
    "a selector of one's own": ({"topologySpread": [{"topologyKey": "a", "labelSelector": {}}]}, "labelSelector"),
    "a priority that is no name": ({"priorityClassName": "High!"}, "priorityClassName"),
    "a node's label that is none": ({"nodeSelector": {"pool": "no spaces"}}, "nodeSelector.pool"),
    "a node's key that is none": ({"nodeSelector": {"no spaces": "x"}}, "nodeSelector"),
    "a node's key that is too long": ({"nodeSelector": {"k" * 64: "x"}}, "nodeSelector"),
    "a node's key with a gap in its domain": ({"nodeSelector": {"a..b/x": "y"}}, "nodeSelector"),
    "a resource that is no name": ({"resources": {"requests": {"foo bar": "1"}}}, "resources.requests"),
    "a resource of nobody": ({"resources": {"limits": {"foo": "1"}}}, "resources.limits"),
    "a resource of a domain with a gap": ({"resources": {"limits": {"a..b/gpu": "1"}}}, "resources.limits"),
}
"""Settings of every role that their bounds refuse, and where."""
ADDITIONS_OUT_OF_BOUNDS: dict[str, tuple[dict[str, Any], str]] = {
    "a label with a gap in its domain": ({"labels": {"a..b/x": "y"}}, "labels"),
    "a label that is too long": ({"labels": {"k" * 64: "y"}}, "labels"),
    "an annotation with a gap in its domain": ({"annotations": {"a..b/x": "y"}}, "annotations"),
    "an annotation that runtimes read": ({"annotations": {"dev.gvisor.flag.network": "host"}}, "annotations"),
    "a variable that is no name": ({"environment": {"not-a-name": "x"}}, "environment"),
    "a long value": ({"environment": {"A": "x" * 2049}}, "environment.A"),
    "a secret without a key": ({"secretEnvironment": {"A": {"secret": "a"}}}, "secretEnvironment.A.key"),
    "a secret as text": ({"secretEnvironment": {"A": "password"}}, "secretEnvironment.A"),
    "a folder of the node": (volume("/mnt/x", hostPath={"path": "/"}), "hostPath"),
    "scratch space without bounds": (volume("/mnt/x", emptyDir={}), "volumes[0].emptyDir.sizeLimit"),
    **{
        f"a mount at {path}": (volume(path), "volumes[0].mountPath")
        for path in ("/storage", "/etc/spade/tokens", "/tmp", "/home/spade", "/dev/shm", "/", "/opt/spade", "/mnt")
    },
    "a mount that climbs": (volume("/mnt/../etc"), "volumes[0].mountPath"),
    "a mount with a gap": (volume("/mnt//x"), "volumes[0].mountPath"),
}
"""Settings of trusted roles that their bounds refuse, and where."""
