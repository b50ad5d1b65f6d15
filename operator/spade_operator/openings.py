"""NetworkPolicies of others that would let pods out: policies add up, so one of them undoes what ours close.

Kept apart from the records of a run's children, because they belong to no run; which pods a policy selects is asked
when a run is looked at.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from spade_operator.containers import Raw
from spade_operator.selectors import Expression, expressions_of


@dataclass(frozen=True)
class Opening:
    """A NetworkPolicy with at least one rule for egress."""

    namespace: str
    name: str
    match_labels: tuple[tuple[str, str], ...] = ()
    expressions: tuple[Expression, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether it holds for pods with these labels; without any demand it holds for all of the namespace."""
        return all(labels.get(key) == value for key, value in self.match_labels) and all(
            expression.holds(labels) for expression in self.expressions
        )


def opening_of(raw: Raw) -> Opening | None:
    """What a NetworkPolicy lets out; None when it lets nobody out."""
    meta, spec = raw.get("metadata") or {}, raw.get("spec") or {}
    if not spec.get("egress") or "Egress" not in (spec.get("policyTypes") or ["Egress"]):
        return None
    selector: Raw = spec.get("podSelector") or {}
    return Opening(
        meta.get("namespace", ""),
        meta["name"],
        tuple(sorted((selector.get("matchLabels") or {}).items())),
        expressions_of(selector.get("matchExpressions")),
    )
