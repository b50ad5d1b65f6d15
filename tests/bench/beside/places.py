"""Where the sandbox is measured: a pod in gVisor, and the same container in runc."""

from tests.support.sandbox_pods import pod_in_gvisor, pod_in_runc

GVISOR, RUNC = "gVisor", "runc"
PLACES = {GVISOR: pod_in_gvisor, RUNC: pod_in_runc}
