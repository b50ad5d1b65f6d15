"""The node's devices, and the firewall rules that have to go with the cluster."""

from __future__ import annotations

import ipaddress
import json
import subprocess
from pathlib import Path

from spade_cluster.commands import run, succeeds
from spade_cluster.errors import ClusterError
from spade_cluster.settings import (
    NODE_ADDRESS,
    NODE_BRIDGE,
    POD_BRIDGE,
    POD_CIDR,
    SERVICE_CIDR,
    STAND_IN_ADDRESSES,
    Layout,
)

FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
OUR_CHAINS = (
    "CNI-",
    "KUBE-ROUTER-",
    "KUBE-POD-FW-",
    "KUBE-NWPLCY-",
    "KUBE-KUBELET-CANARY",
    "KUBE-IPTABLES-HINT",
    "KUBE-FIREWALL",
    "KUBE-PROXY-",
)
"""Prefixes of the iptables chains that the CNI plugins, kube-router, the kubelet and kube-proxy make."""
OUR_SETS = ("KUBE-", "kube-router-", "inet6:KUBE-", "inet6:kube-router-")


def ensure_network(layout: Layout) -> None:
    """Create the node's bridge with its addresses and let the kernel forward packets."""
    _refuse_overlapping_routes()
    if not was_started(layout):
        _record(layout).write_text(json.dumps({"forwarding": FORWARDING.read_text(), "tables": _tables()}))
    if not Path(f"/sys/class/net/{NODE_BRIDGE}").exists():
        run(["ip", "link", "add", NODE_BRIDGE, "type", "bridge"])
    present = run(["ip", "-o", "-4", "address", "show", "dev", NODE_BRIDGE])
    for address in (NODE_ADDRESS, *STAND_IN_ADDRESSES):
        if f" {address}/" not in present:
            run(["ip", "address", "add", f"{address}/32", "dev", NODE_BRIDGE])
    run(["ip", "link", "set", NODE_BRIDGE, "up"])
    FORWARDING.write_text("1\n")


def remove_network(layout: Layout) -> None:
    """Remove devices, firewall chains, sets and tables, and put forwarding back as it was.

    Only for a cluster that was started: what is there may be another home folder's.
    """
    record = _record(layout)
    before = json.loads(record.read_text())
    for device in (POD_BRIDGE, NODE_BRIDGE):
        if Path(f"/sys/class/net/{device}").exists():
            run(["ip", "link", "delete", device])
    for family in ("ip", "ip6"):
        succeeds(["nft", "delete", "table", family, "kube-proxy"])
    for command in ("iptables", "ip6tables"):
        for table in ("filter", "nat", "mangle"):
            _remove_chains(command, table)
    _remove_sets()
    for table in _tables():
        if table not in before["tables"]:
            _remove_empty_table(*table.split())
    FORWARDING.write_text(before["forwarding"])
    record.unlink()


def was_started(layout: Layout) -> bool:
    """Tell whether this home folder's cluster has touched the machine's network since it was last stopped."""
    return _record(layout).exists()


def _record(layout: Layout) -> Path:
    """Where the state of the network before the start is kept."""
    return layout.state / "network-before.json"


def chain_removal(saved: str, table: str) -> str | None:
    """Turn a saved iptables table into an iptables-restore script that removes our chains and the rules into them.

    Returns None when there is nothing of ours in it.
    """
    chains = [line.split()[0][1:] for line in saved.splitlines() if line.startswith(":")]
    ours = [chain for chain in chains if chain.startswith(OUR_CHAINS)]
    if not ours:
        return None
    lines = [f"*{table}"]
    for line in saved.splitlines():
        words = line.split()
        if line.startswith("-A ") and words[1] not in ours and any(target in ours for target in words):
            lines.append("-D" + line[2:])
    lines += [f"-F {chain}" for chain in ours]
    lines += [f"-X {chain}" for chain in ours]
    return "\n".join([*lines, "COMMIT", ""])


def _refuse_overlapping_routes() -> None:
    """Raise ClusterError when another device already serves one of our address ranges."""
    ours = [ipaddress.ip_network(cidr) for cidr in (POD_CIDR, SERVICE_CIDR, f"{NODE_ADDRESS}/32")]
    for route in json.loads(run(["ip", "-json", "-4", "route", "show", "table", "all"])):
        target, device = route["dst"], route.get("dev", "")
        if target == "default" or device in (NODE_BRIDGE, POD_BRIDGE):
            continue
        network = ipaddress.ip_network(target, strict=False)
        overlap = next((our for our in ours if our.overlaps(network)), None)
        if overlap is not None and network.prefixlen >= 8:
            raise ClusterError(
                f"the route to {target} on {device} overlaps with {overlap}, which the cluster uses: remove it, "
                f"or change the ranges in cluster/spade_cluster/settings.py"
            )


def _remove_chains(command: str, table: str) -> None:
    """Remove our chains from one table."""
    saved = subprocess.run([f"{command}-save", "-t", table], capture_output=True, text=True, check=False)
    script = chain_removal(saved.stdout, table)
    if script is not None:
        run([f"{command}-restore", "--noflush"], stdin=script)


def _tables() -> list[str]:
    """Return the firewall's tables as 'family name'."""
    return [line.removeprefix("table ") for line in run(["nft", "list", "tables"]).splitlines()]


def _remove_empty_table(family: str, name: str) -> None:
    """Remove one of iptables' own tables if it holds no rule any more. It came into being by our first look at it."""
    if name not in ("filter", "nat", "mangle"):
        return
    listed = json.loads(run(["nft", "--json", "list", "table", family, name]))["nftables"]
    if not any("rule" in one for one in listed):
        run(["nft", "delete", "table", family, name])


def _remove_sets() -> None:
    """Remove kube-router's address sets; they are free once the chains are gone."""
    shown = subprocess.run(["ipset", "list", "-name"], capture_output=True, text=True, check=False)
    for name in shown.stdout.split():
        if name.startswith(OUR_SETS):
            succeeds(["ipset", "destroy", name])
