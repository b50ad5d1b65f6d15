"""Is the spec one that can run? What a deeper look at model and corpus finds is prepare's part of the condition."""

from datetime import datetime

from spade_contracts.errors import InvalidInput
from spade_contracts.resources import Phase, Reason, RunCondition, SpadeRunSpec
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.steps import Step, is_false

SCHEMES = ("package:", "file:///")
"""What we ship, and what lies in run storage."""


def check(spec: SpadeRunSpec) -> None:
    """Raise InvalidInput, naming the field and what to write, for a spec that cannot run. `spade check` calls this."""
    method = spec.method()
    for where, uri in (
        ("spec.model.uri", spec.model.uri),
        ("spec.environments.corpus.uri", method.environments.corpus.uri),
    ):
        if not uri.startswith(SCHEMES):
            raise InvalidInput(where, f"{uri!r} cannot be read", remedy="Write package:NAME or file:///PATH.")
    sandbox = spec.sandbox
    if sandbox.min_pods > sandbox.max_pods:
        raise InvalidInput(
            "spec.sandbox.minPods",
            f"is {sandbox.min_pods}, more than spec.sandbox.maxPods ({sandbox.max_pods})",
            remedy="Lower one or raise the other.",
        )


def accept(seen: Observed, now: datetime) -> Step:
    """Refuse a spec that breaks a rule; the run waits until it is replaced."""
    problem = seen.run.problem
    if not problem:
        try:
            check(seen.spec)
        except InvalidInput as error:
            problem = str(error)
    if not problem:
        return Step()
    refused = is_false(RunCondition.ACCEPTED, Reason.INVALID_SPEC, problem)
    return Step(conditions=(refused,), phase=Phase.PENDING, doing="waiting for a valid spec", blocks=True)
