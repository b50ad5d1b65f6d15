"""Requests and limits of a container: the site's defaults with the run's settings over them, name by name."""

import re
from decimal import Decimal

from spade_contracts.resources.pods import Resources

_SUFFIXES = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
}
_QUANTITY = re.compile(r"^([0-9]+(?:\.[0-9]+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti)?$")


def amount(quantity: str) -> Decimal:
    """The value of a quantity, such as 0.4 for `400m`. ValueError for a text that the CRD would have refused."""
    match = _QUANTITY.match(quantity)
    if match is None:
        raise ValueError(f"{quantity!r} is no quantity; write for instance 500m or 4Gi")
    return Decimal(match[1]) * _SUFFIXES[match[2] or ""]


def laid_over(defaults: Resources, own: Resources) -> Resources:
    """`own` over `defaults`. Where the run gives only one of request and limit, the other follows to keep them legal.

    Device plugins' resources (`nvidia.com/gpu`) cannot be overcommitted: their request and limit are made equal.
    """
    requests = defaults.requests | own.requests
    limits = defaults.limits | own.limits
    for name in sorted(requests.keys() | limits.keys()):
        request, limit = requests.get(name), limits.get(name)
        if "/" in name:
            requests[name] = limits[name] = own.limits.get(name) or own.requests.get(name) or limit or request or "0"
        elif request is not None and limit is not None and amount(request) > amount(limit):
            if name in own.limits:
                requests[name] = limit
            else:
                limits[name] = request
    return Resources(requests=requests, limits=limits)


def threads(resources: Resources, processes: int) -> int:
    """Threads for each of a container's processes: its CPU request shared out, at least 1.

    More threads than CPU time slow numeric code down many times over, so the request counts and not the node's cores.
    """
    cpu = resources.requests.get("cpu") or resources.limits.get("cpu") or "1"
    return max(1, int(amount(cpu) / processes))
