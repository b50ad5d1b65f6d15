"""One CEL rule of a custom resource."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One entry of `x-kubernetes-validations`."""

    rule: str
    message: str
    """What is wrong and what to write."""
    expression: str = ""
    """CEL that computes the message with the values in it; the plain message is the fallback."""
    field: str = ""
    """Path below the rule's place that the API server names."""
    once: bool = False
    """Judged only when the object is made: what it reads cannot change, and a rule that a later version adds must not
    hold up changes of anything else in older objects.
    """
