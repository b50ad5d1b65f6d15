"""Whether the namespace's ResourceQuotas let the run's pods in."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from spade_contracts.resources import Reason
from spade_operator.preflight.findings import Finding, Level, joined, pod_field, shown
from spade_operator.preflight.plan import Plan, Pods, total
from spade_operator.preflight.surroundings import Amounts, Quota, Surroundings

QUOTAS = "quota"
COMPUTE = ("cpu", "memory")
"""What a quota that counts it makes every container state."""


def check_quotas(plan: Plan, around: Surroundings) -> Iterator[Finding]:
    """What can never fit is a problem, what does not fit now a warning."""
    if around.quotas is None:
        yield Finding(Level.UNKNOWN, QUOTAS, f"The quotas of namespace {plan.namespace} could not be looked at.")
        return
    found = [finding for quota in around.quotas if quota.applies for finding in _check(plan, around, quota)]
    yield from found
    scoped = [quota.name for quota in around.quotas if not quota.applies]
    if scoped:
        yield Finding(Level.UNKNOWN, QUOTAS, f"Quotas for some pods only are not reckoned with: {joined(scoped)}.")
    if not found:
        number = len(around.quotas) - len(scoped)
        text = f"{number} quotas leave enough for the run." if number else "No quota bounds the namespace."
        yield Finding(Level.FINE, QUOTAS, text)


def demand(plan: Plan, *, makes_claim: bool) -> Amounts:
    """What the run's pods and claim take of a quota, by the names that quotas use."""
    requests, limits = total(plan.pods), _limits(plan)
    return {
        "pods": requests["pods"],
        "count/pods": requests["pods"],
        **{f"requests.{name}": amount for name, amount in requests.items() if name != "pods"},
        **{name: amount for name, amount in requests.items() if name in (*COMPUTE, "ephemeral-storage")},
        **{f"limits.{name}": amount for name, amount in limits.items()},
        # The preparation's Job and those of learner and workers are there at the same time at most by a moment.
        "count/jobs.batch": Decimal(2),
        "count/deployments.apps": Decimal(3),
        **({"persistentvolumeclaims": Decimal(1), "requests.storage": plan.storage_size} if makes_claim else {}),
    }


def _limits(plan: Plan) -> dict[str, Decimal]:
    result: dict[str, Decimal] = {}
    for pods in plan.pods:
        for name, amount in pods.limits.items():
            result[name] = result.get(name, Decimal(0)) + amount * pods.count
    return result


def _check(plan: Plan, around: Surroundings, quota: Quota) -> Iterator[Finding]:
    for name in quota.hard:
        yield from _unstated(plan, quota, name)
    needed = demand(plan, makes_claim=plan.makes_claim and plan.claim not in (around.claims or {}))
    never = {name: hard for name, hard in quota.hard.items() if needed.get(name, Decimal(0)) > hard}
    if never:
        yield Finding(
            Level.PROBLEM, QUOTAS, f"Quota {quota.name} is smaller than the run: {_words(needed, never)}.",
            "Raise it, or lower requests, limits or numbers of pods.", Reason.QUOTA_EXCEEDED,
        )  # fmt: skip
        return
    if around.own_use:
        return
    left = {name: hard - quota.used.get(name, Decimal(0)) for name, hard in quota.hard.items()}
    short = {name: amount for name, amount in left.items() if needed.get(name, Decimal(0)) > amount}
    if short:
        yield Finding(
            Level.WARNING, QUOTAS, f"Quota {quota.name} has too little left: {_words(needed, short)}.",
            f"Free some (kubectl -n {plan.namespace} describe resourcequota {quota.name}), or raise it.",
        )  # fmt: skip


def refusing(pods: Pods, quotas: Iterable[Quota]) -> str:
    """Which quota lets no more pod of this kind in, in words; '' when none is known to."""
    one = {f"limits.{name}": amount for name, amount in pods.limits.items()}
    for name, amount in (*pods.requests.items(), ("pods", Decimal(1))):
        one |= {name: amount, f"requests.{name}": amount}
    one["count/pods"] = Decimal(1)
    for quota in quotas:
        left = {name: hard - quota.used.get(name, Decimal(0)) for name, hard in quota.hard.items()}
        short = {name: amount for name, amount in left.items() if one.get(name, Decimal(0)) > amount}
        if quota.applies and short:
            return f"quota {quota.name} has too little left for it: {_words(one, short)}"
    return ""


def _unstated(plan: Plan, quota: Quota, name: str) -> Iterator[Finding]:
    """A quota on CPU or memory refuses pods that do not state it."""
    kind, _, resource = name.rpartition(".")
    if resource not in COMPUTE or kind not in ("", "requests", "limits"):
        return
    silent = [pods for pods in plan.all_pods if not pods.states(kind or "requests", resource)]
    if silent:
        where = f"resources.{kind or 'requests'}.{resource}"
        fields = joined(dict.fromkeys(f"{pod_field(pods.role)}.{where}" for pods in silent))
        roles = joined(str(pods.role) for pods in silent)
        yield Finding(
            Level.WARNING, QUOTAS, f"Quota {quota.name} counts {name}, so pods must state it, and {roles} pods do not.",
            f"Set {fields} (a beacon's is the value defaultResources.beacon), unless a LimitRange does.",
        )  # fmt: skip


def _words(needed: Amounts, there: Amounts) -> str:
    return joined(
        f"{name} {shown(name, needed[name])} is needed, {shown(name, max(amount, Decimal(0)))} is there"
        for name, amount in sorted(there.items())
    )
