"""Storage, and the Secrets and ConfigMaps that the run's pods name."""

from collections.abc import Iterable, Iterator, Mapping

from spade_contracts.resources import Reason
from spade_operator.preflight.findings import Finding, Level, joined
from spade_operator.preflight.plan import Plan
from spade_operator.preflight.surroundings import Surroundings

STORAGE, NAMES = "storage", "names"


def check_storage(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Claims and classes. Only the preparation Job shows that run storage can be mounted and written."""
    shows = "That it can be mounted and written only the preparation Job shows."
    if around.claims is None:
        yield Finding(
            Level.UNKNOWN, STORAGE, f"The claims of namespace {plan.namespace} could not be looked at. {shows}"
        )
        return
    missing = [name for name in plan.claims() if name not in around.claims]
    if missing:
        fields = "Correct spec.storage.claimName or the volumes of the pod settings, or make the claim."
        message = f"PersistentVolumeClaim {joined(missing)} does not exist in namespace {plan.namespace}."
        yield Finding(Level.PROBLEM, STORAGE, message, fields, Reason.STORAGE_UNAVAILABLE)
        return
    if plan.claim is None:
        words = "Run storage is a bucket. That it can be read and written only the preparation Job shows."
        yield Finding(Level.FINE, STORAGE, words)
        return
    claim = around.claims.get(plan.claim)
    if claim is not None:
        lost = claim.phase == "Lost"
        level = Level.PROBLEM if lost else Level.FINE
        message = f"PersistentVolumeClaim {plan.claim} is {claim.phase or 'there'}. {shows}"
        remedy = "Its volume is gone: restore it, or delete the claim and lose what was on it." if lost else ""
        yield Finding(level, STORAGE, message, remedy, Reason.STORAGE_UNAVAILABLE if lost else None)
        return
    yield _class(plan, around.storage_classes, shows)


def _class(plan: Plan, classes: Mapping[str, bool] | None, shows: str) -> Finding:
    """Of the claim that the operator will make."""
    if classes is None:
        return Finding(Level.UNKNOWN, STORAGE, f"The claim {plan.claim} will be made. {shows}")
    if plan.storage_class is not None and plan.storage_class not in classes:
        message = f"StorageClass {plan.storage_class} does not exist."
        remedy = (
            "Correct spec.storage.storageClassName (kubectl get storageclasses): make the run anew, it is immutable."
        )
        return Finding(Level.PROBLEM, STORAGE, message, remedy, Reason.STORAGE_UNAVAILABLE)
    if plan.storage_class is None and not any(classes.values()):
        message = "No StorageClass is the default, so the claim that is made for the run stays unbound."
        remedy = "Name one in spec.storage.storageClassName, or an existing claim in spec.storage.claimName."
        return Finding(Level.WARNING, STORAGE, message, remedy)
    return Finding(Level.FINE, STORAGE, f"The claim {plan.claim} will be made. {shows}")


def check_names(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """Secrets and ConfigMaps. The operator cannot read Secrets, so only a user's own look tells of these."""
    for kind, wanted, known in (
        ("Secret", plan.secrets(), around.secrets),
        ("ConfigMap", plan.config_maps(), around.config_maps),
    ):
        if not wanted:
            continue
        if known is None:
            message = (
                f"Whether {kind} {joined(sorted(wanted))} exists could not be looked at; a pod that misses one says so."
            )
            yield Finding(Level.UNKNOWN, NAMES, message)
            continue
        missing = list(_missing(plan, kind, wanted, known))
        yield from missing
        if not missing:
            yield Finding(Level.FINE, NAMES, f"{kind} {joined(sorted(wanted))} exists.")


def _missing(
    plan: Plan, kind: str, wanted: Mapping[str, Iterable[str]], known: Mapping[str, frozenset[str] | None]
) -> Iterator[Finding]:
    for name, keys in sorted(wanted.items()):
        there = known.get(name)
        if there is None:
            yield Finding(
                Level.PROBLEM, NAMES, f"{kind} {name} does not exist in the run's namespace.",
                f"Make it, or correct its name in {plan.field_of(name)}.",
                Reason.INVALID_CONFIGURATION,
            )  # fmt: skip
        elif lacking := sorted(set(keys) - there):
            message = f"{kind} {name} has no key {joined(lacking)}."
            yield Finding(Level.PROBLEM, NAMES, message, "Add it, or correct the key.", Reason.INVALID_CONFIGURATION)
