"""Where the sandbox is measured: a pod in gVisor, and the same pod on this machine's own kernel, as under runc."""

from tests.support.sandbox_pods import pod_in_gvisor, pod_in_namespaces

GVISOR, PLAIN = "gVisor", "plain kernel"
PLACES = {GVISOR: pod_in_gvisor, PLAIN: pod_in_namespaces}
