"""Counts in a termination message, which Kubernetes cuts at 4 KB: the rarest give way, and none is lost."""

from collections.abc import Mapping

OTHER = "other"


def bounded(counts: Mapping[str, int], most: int = 40) -> dict[str, int]:
    """At most so many counts by name; the rarest are added up as `other`."""
    if len(counts) <= most:
        return dict(sorted(counts.items()))
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    kept, rest = ranked[: most - 1], ranked[most - 1 :]
    return {**{name: counts[name] for name in sorted(kept)}, OTHER: sum(counts[name] for name in rest)}
