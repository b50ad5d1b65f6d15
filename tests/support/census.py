"""What a sandbox pod holds: processes and descriptors, counted in the pod's own place."""

import json
import subprocess
import sys
from dataclasses import dataclass

from tests.support.sandbox_pods import RunningPod

FIRST_IN_GVISOR = 1


@dataclass(frozen=True)
class Census:
    """Counts at one moment."""

    processes: int
    server_descriptors: int
    zygote_descriptors: int

    def within(self, other: "Census") -> bool:
        """Whether nothing is more than in the other."""
        return (
            self.processes <= other.processes
            and self.server_descriptors <= other.server_descriptors
            and self.zygote_descriptors <= other.zygote_descriptors
        )


def census(pod: RunningPod) -> Census:
    """Count now."""
    server = FIRST_IN_GVISOR if pod.within else pod.process.pid
    command = [*pod.within, sys.executable, "-c", COUNT, str(server)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return Census(*json.loads(done.stdout))


COUNT = """
import json, os, sys
server = int(sys.argv[1])
parents = {}
for name in os.listdir("/proc"):
    if name.isdigit():
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            pass
zygote = min(child for child, parent in parents.items() if parent == server)
below, more = set(), {zygote}
while more:
    below |= more
    more = {child for child, parent in parents.items() if parent in below} - below
print(json.dumps([len(below)] + [len(os.listdir(f"/proc/{p}/fd")) for p in (server, zygote)]))
"""
