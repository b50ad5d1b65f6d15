"""Names that a run may not give its pods: those that the operator or the installation sets, and those that load code.

The API server refuses them by CEL, and the models once more.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from spade_contracts.tasks import ENDPOINT_KEYS


@dataclass(frozen=True)
class Reserved:
    """Names that are refused together, and why."""

    names: tuple[str, ...]
    """`*` stands for any characters."""
    why: str
    """And what to do instead; the names are put before it."""
    but: tuple[str, ...] = ()
    """Names that are among them and may be given all the same."""

    @property
    def pattern(self) -> str:
        """Of whole names, as Python and CEL read it."""
        whole = "|".join(re.escape(name).replace(r"\*", ".*").replace(r"\-", "-") for name in self.names)
        return f"^({whole})$"

    def holds(self, name: str) -> bool:
        """Whether the name is refused."""
        return re.fullmatch(self.pattern, name) is not None and name not in self.but


ENVIRONMENT = (
    Reserved(
        (
            "HOME", "HOSTNAME", "TMPDIR", "XDG_*", "SPADE_*", "KUBERNETES_*", "JOB_COMPLETION_INDEX", "MASTER_*",
            "RANK", "LOCAL_*", "GROUP_*", "ROLE_*", "WORLD_SIZE", "PET_*", "TORCHELASTIC_*", "HF_HOME",
            "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
            "RAYON_NUM_THREADS", "TOKENIZERS_PARALLELISM",
        ),
        "may not be set, because the operator sets these itself: use other names",
    ),
    Reserved(
        (
            "PATH", "LD_*", "PYTHON*", "GLIBC_*", "GCONV_PATH", "LOCPATH", "BASH_ENV", "ENV", "CC", "CXX", "VLLM_*",
            "TRITON_*", "TORCHINDUCTOR_*", "TORCH_EXTENSIONS_DIR", "NUMBA_*", "NCCL_*PLUGIN*", "NCCL_CONF_FILE",
            "CUDA_HOME", "CUDA_PATH", "CUDA_INJECTION*", "NVIDIA_*", "OPENSSL_*", "UCX_MODULE_DIR", "HF_MODULES_CACHE",
            "AWS_*_FILE",
        ),
        "may not be set, because they change which code or device a pod uses: use spec.engine.args for vLLM, resources "
        "for GPUs, and an image of the installation for the rest",
    ),
    Reserved(
        (
            "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
            "SSL_CERT_*", "SSLKEYLOGFILE", "*_CA_BUNDLE", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS",
        ),
        "may not be set, because they change whom a pod talks to and trusts: use proxy and caBundle of the chart's "
        "values",
    ),
)  # fmt: skip
"""Environment variables."""
SECRET_ENVIRONMENT = (replace(ENVIRONMENT[0], but=ENDPOINT_KEYS), *ENVIRONMENT[1:])
"""Environment variables with values from Secrets."""

OURS = ("spade.dev/*", "*.spade.dev/*", "kubernetes.io/*", "*.kubernetes.io/*", "k8s.io/*", "*.k8s.io/*")
BECAUSE_OURS = (
    "may not be set, because roles, network policies and Kubernetes itself go by them: use a domain of your own"
)
MESH = Reserved(
    ("sidecar.istio.io/inject", "istio.io/dataplane-mode", "istio.io/rev", "linkerd.io/inject"),
    "may not be set, because the installation decides about meshes: use mesh.optOut of the chart's values",
)
LABELS = (Reserved(OURS, BECAUSE_OURS), MESH)
"""Labels of pods."""
ANNOTATIONS = (
    replace(LABELS[0], but=("cluster-autoscaler.kubernetes.io/safe-to-evict",)),
    MESH,
    Reserved(
        ("crio.io/*", "*.crio.io/*"),
        "may not be set, because the container runtime takes settings from them: use a domain of your own",
    ),
)
"""Annotations of pods. Runtimes take settings from keys without a domain too, which the keys' form excludes."""
SECRETS = Reserved(
    ("*-sandbox-tokens", "*-engine-tokens", "*-learner-tokens", "*-worker-tokens", "*-installation-key"),
    "may not be used, because these hold tokens of runs or the installation's key: use a Secret of your own",
)
"""Secrets of the namespace."""


def refused(names: Iterable[str], families: Iterable[Reserved]) -> str:
    """What is wrong with the names and what to do, or '' where none is reserved."""
    names = tuple(names)
    for family in families:
        found = [name for name in names if family.holds(name)]
        if found:
            return f"{', '.join(found)} {family.why}"
    return ""
