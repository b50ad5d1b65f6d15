"""Which policy of which run a run starts from (`model.fromRun`), and whether it can be had yet."""

from spade_contracts.resources import Reason, RunCondition, SpadeRunStatus
from spade_contracts.resources.run_parts import FromRun
from spade_operator.children.names import claim_name
from spade_operator.children.origin import Origin
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import condition_true
from spade_operator.reconcile.steps import Wanted, is_false
from spade_operator.records import RunRecord

LOOK_AGAIN_SECONDS = 10.0
"""Another run's progress is no event of this one."""


def origin(seen: Observed) -> Origin | Wanted | None:
    """Where policy 0 comes from; a condition while that cannot be had; None for a run that starts from a model."""
    wanted = seen.spec.model.from_run
    if wanted is None:
        return None
    source = seen.source
    if source is None:
        return _of_storage(wanted, seen)
    if (waits := _waits(wanted, source.status)) is not None:
        return waits
    if (elsewhere := _elsewhere(wanted, seen, source)) is not None:
        return elsewhere
    return Origin(wanted.name, _claim(wanted, source), wanted.policy_version, source.status.policy_version)


def _of_storage(wanted: FromRun, seen: Observed) -> Origin | Wanted:
    """The run is gone: its storage may have stayed."""
    if seen.spec.storage.s3 is not None and wanted.claim_name is None:
        return Origin(wanted.name, None, wanted.policy_version, None)
    claim = wanted.claim_name or (claim_name(wanted.name) if seen.source_claim else None)
    if claim is None:
        text = (
            f"spec.model.fromRun: there is no SpadeRun {wanted.name} in this namespace, and no claim "
            f"{claim_name(wanted.name)} that it left. If it had named a claim itself, write that as "
            "spec.model.fromRun.claimName in a new run."
        )
        return is_false(RunCondition.ACCEPTED, Reason.POLICY_NOT_FOUND, text)
    return Origin(wanted.name, claim, wanted.policy_version, None)


def _elsewhere(wanted: FromRun, seen: Observed, source: RunRecord) -> Wanted | None:
    """A pod is given the keys of one bucket, so that of another run must be the same."""
    theirs = source.spec.storage.s3 if source.spec is not None else None
    ours = seen.spec.storage.s3
    same = (
        ours is not None and theirs is not None and (ours.uri, ours.endpoint_url) == (theirs.uri, theirs.endpoint_url)
    )
    if theirs is None or same:
        return None
    text = (
        f"spec.model.fromRun: the storage of SpadeRun {wanted.name} is {theirs.uri}, which this run is given no keys "
        "of. Write the same spec.storage.s3 in a new run, or export that policy and name it as spec.model.uri."
    )
    return is_false(RunCondition.ACCEPTED, Reason.POLICY_NOT_FOUND, text)


def _claim(wanted: FromRun, source: RunRecord) -> str | None:
    if source.spec is not None and source.spec.storage.s3 is not None:
        return None
    own = source.spec.storage.claim_name if source.spec is not None else None
    return own or wanted.claim_name or claim_name(wanted.name)


def _waits(wanted: FromRun, status: SpadeRunStatus) -> Wanted | None:
    """A run that may still get there is waited for; of one that has ended, storage tells what is there."""
    proven = status.policy_version
    ended = any(condition_true(status.conditions, end) for end in (RunCondition.COMPLETE, RunCondition.FAILED))
    if ended or (proven is not None and (wanted.policy_version or 0) <= proven):
        return None
    what = "no policy" if proven is None else f"policy version {proven}"
    asked = "" if wanted.policy_version is None else f" Policy version {wanted.policy_version} is wanted."
    text = f"spec.model.fromRun: SpadeRun {wanted.name} has proven {what} so far.{asked} This run waits for it."
    return is_false(RunCondition.ACCEPTED, Reason.WAITING, text)
