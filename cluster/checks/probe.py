"""Runs in a pod of cluster/check: says which kernel it sees and which TCP targets it reaches.

Usage: probe.py open|closed HOST:PORT...   Tries for 20 s until every target is as wanted, because a policy arrives a
little after its pod.
"""

import json
import socket
import sys
import time
from pathlib import Path

DEADLINE_SECONDS = 20.0


def reaches(target: str) -> bool:
    """Tell whether a TCP connection to HOST:PORT opens."""
    host, _, port = target.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def main() -> None:
    """Print one line of JSON."""
    wanted, targets = sys.argv[1] == "open", sys.argv[2:]
    end = time.monotonic() + DEADLINE_SECONDS
    while True:
        reached = {target: reaches(target) for target in targets}
        if all(value == wanted for value in reached.values()) or time.monotonic() > end:
            break
        time.sleep(0.5)
    print(json.dumps({"kernel": Path("/proc/version").read_text().strip(), "reached": reached}))


if __name__ == "__main__":
    main()
