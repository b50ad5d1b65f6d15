"""Is the spec one that can run? What a deeper look at model and corpus finds is prepare's part of the condition."""

import re
from datetime import datetime
from posixpath import normpath

from spade_contracts.config import MethodConfig, ParallelismConfig, VerificationSettings
from spade_contracts.config.verification import JudgeSource, OptionalStage
from spade_contracts.errors import InvalidInput
from spade_contracts.resources import Phase, Reason, RunCondition, SpadeRunSpec
from spade_contracts.resources.pods import PodSettings
from spade_contracts.resources.run_parts import ENGINE_ARGS, PACKAGES
from spade_operator.preflight.checks import check_all, of_level
from spade_operator.preflight.findings import Finding, Level
from spade_operator.preflight.plan import plan_of
from spade_operator.reconcile.designers import check_designer
from spade_operator.reconcile.expiry import ended
from spade_operator.reconcile.fabric import NotAllowed, check_fabric
from spade_operator.reconcile.observe import RESTING, Observed
from spade_operator.reconcile.steps import Step, is_false

PACKAGE = "package:"
HUB = "hf:"
SCHEMES = (PACKAGE, "file:///")
"""What we ship, and what lies in run storage."""
BUCKET = "s3://"
READABLE = "Write package:NAME or file:///PATH; a model may be hf:ORGANISATION/NAME, a corpus s3://BUCKET/KEY too."
HUB_MODEL = re.compile(r"hf:[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


class NotSupported(InvalidInput):
    """The spec makes sense, but this version cannot do what it asks for."""


def check(spec: SpadeRunSpec, method: MethodConfig | None = None) -> None:
    """Raise InvalidInput, naming the field and what to write, for a spec that cannot run. `spade check` calls this.

    method: the spec's resolved settings, where they are known already.
    """
    method = spec.method() if method is None else method
    if (spec.model.uri is None) == (spec.model.from_run is None):
        raise InvalidInput("spec.model", "must have one source", remedy="Write either uri or fromRun.")
    if spec.storage.s3 is not None and (spec.storage.claim_name or spec.storage.storage_class_name):
        remedy = "Write either s3, or claimName or storageClassName."
        raise InvalidInput("spec.storage", "must be in one place", remedy=remedy)
    if (spec.model.revision is not None) != (spec.model.uri or "").startswith(HUB):
        remedy = "Write its commit, 40 hexadecimal digits, with hf: and only with it."
        raise InvalidInput("spec.model.revision", "is the commit of a model of the hub", remedy=remedy)
    for where, uri in (
        ("spec.model.uri", spec.model.uri),
        ("spec.environments.corpus.uri", method.environments.corpus.uri),
    ):
        if not uri or (where == "spec.model.uri" and HUB_MODEL.fullmatch(uri)):
            continue
        if where == "spec.model.uri" and uri.startswith(PACKAGE) and uri not in PACKAGES:
            raise InvalidInput(where, f"{uri} is not shipped", remedy=f"Use {', '.join(PACKAGES)}.")
        if not uri.startswith(SCHEMES if where == "spec.model.uri" else (*SCHEMES, BUCKET)):
            raise InvalidInput(where, f"{uri!r} cannot be read", remedy=READABLE)
        _check_no_secret(where, uri, spec.workers.pod)
    longest = spec.engine.args.get("max-model-len", "")
    if longest.isascii() and longest.isdigit() and int(longest) < method.play.context_tokens:
        raise InvalidInput(
            "spec.engine.args.max-model-len",
            f"is {longest}, less than spec.play.contextTokens ({method.play.context_tokens})",
            remedy="Raise it, or lower the other: an engine refuses what is longer.",
        )
    strange = sorted(set(spec.engine.args) - set(ENGINE_ARGS))
    if strange:
        raise InvalidInput(
            "spec.engine.args",
            f"{', '.join(strange)} may not be set: arguments may change speed, memory and layout only",
            remedy=f"Use of {', '.join(ENGINE_ARGS)}.",
        )
    sandbox = spec.sandbox
    if sandbox.min_pods > sandbox.max_pods:
        raise InvalidInput(
            "spec.sandbox.minPods",
            f"is {sandbox.min_pods}, more than spec.sandbox.maxPods ({sandbox.max_pods})",
            remedy="Lower one or raise the other.",
        )
    _check_judge(method.environments.verification)
    check_designer(method.environments)
    pool = method.environments.designer.pool.uri
    if pool:
        _check_no_secret("spec.environments.designer.pool.uri", pool, spec.workers.pod)
    _check_layout(spec.learner.parallelism)


def _check_judge(verification: VerificationSettings) -> None:
    """Raise InvalidInput for a judge that would reject every program, or would never be asked."""
    where, wanted = "spec.environments.verification.judge.url", OptionalStage.JUDGE in verification.stages
    if verification.judge.source is JudgeSource.POLICY:
        if verification.judge.url:
            raise InvalidInput(where, "is not used", remedy="Remove it, or write judge.source: Endpoint.")
        if not wanted:
            raise InvalidInput(
                where.replace("url", "source"), "is not used", remedy="Add Judge to verification.stages, or remove it."
            )
        return
    if wanted and not verification.judge.url:
        raise InvalidInput(
            where,
            "is empty, but verification.stages holds Judge: without a judge every program is rejected",
            remedy="Write the base URL of an OpenAI-compatible endpoint, or judge.source: Policy, or remove Judge from "
            "the stages.",
        )
    if verification.judge.url and not wanted:
        raise InvalidInput(
            where,
            "is not used, because verification.stages does not hold Judge",
            remedy="Add Judge, or remove the URL.",
        )


def _check_no_secret(where: str, uri: str, pod: PodSettings) -> None:
    """Raise InvalidInput for a model, corpus or pool in a Secret: what is read there gets into messages and prompts."""
    path = normpath("/" + uri.removeprefix("file://").lstrip("/"))
    for volume in pod.volumes:
        if volume.secret is not None and f"{path}/".startswith(f"{volume.mount_path}/"):
            raise InvalidInput(
                where,
                f"{uri!r} lies in the Secret {volume.secret.secret_name}",
                remedy="Put it into run storage, or into a claim of spec.workers.pod.volumes.",
            )


def _check_layout(layout: ParallelismConfig) -> None:
    """Raise NotSupported for a layout that the learner trains with no model; preparation knows the model, and more."""
    for name in ("pipeline", "context"):
        size = getattr(layout, name)
        if size > 1:
            raise NotSupported(
                f"spec.learner.parallelism.{name}",
                f"{size} ranks cannot be trained by this version",
                remedy="Write 1, and a larger tensor parallel size if episodes need room (docs/learner.md).",
            )


def preflight(seen: Observed) -> tuple[Finding, ...]:
    """What a look at the cluster found for a run that is not accepted yet."""
    if seen.around is None or seen.holds(RunCondition.ACCEPTED):
        return ()
    return check_all(plan_of(seen.parent, seen.site), seen.around)


def accept(seen: Observed, now: datetime) -> Step:
    """Refuse a spec that breaks a rule; the run waits until it is replaced. One that lacks something of its cluster
    waits until it is there.
    """
    problem, reason = seen.run.problem, Reason.INVALID_SPEC
    if not problem:
        try:
            check(seen.spec, seen.method)
            check_fabric(seen.spec, seen.site.rdma)
            _check_queue(seen)
        except InvalidInput as error:
            problem = str(error)
            reason = _reason(error)
    if not problem:
        return _without_kueue(seen) or _looking(seen) or _missing(of_level(preflight(seen), Level.PROBLEM))
    refused = is_false(RunCondition.ACCEPTED, reason, problem)
    return Step(conditions=(refused,), phase=Phase.PENDING, doing="waiting for a valid spec", blocks=True)


def _needs_queue(seen: Observed) -> bool:
    return seen.spec.queue_name is not None and not ended(seen)


def _check_queue(seen: Observed) -> None:
    """Raise NotAllowed where the installation keeps no Workloads."""
    if _needs_queue(seen) and not seen.site.kueue:
        remedy = "Have it set where Kueue is installed, or leave queueName out."
        raise NotAllowed("spec.queueName", "needs the chart's value kueue.enabled", remedy=remedy)


def _without_kueue(seen: Observed) -> Step | None:
    """A run with a queue where Kueue is not. It is looked for again by itself.

    Nothing is done before the first look: a run would be taken for one that is not admitted, at the cost of its pods.
    """
    if not _needs_queue(seen) or seen.queueing.served:
        return None
    if seen.queueing.served is None:
        return Step(blocks=True)
    words = (
        "spec.queueName names a queue of Kueue, but the API server does not serve kueue.x-k8s.io/v1beta2. Install a "
        "version of Kueue that does, or leave queueName out. The run goes on by itself when that is mended."
    )
    refused = is_false(RunCondition.ACCEPTED, Reason.KUEUE_MISSING, words)
    return Step(conditions=(refused,), phase=Phase.PENDING, doing="waits for Kueue", blocks=True)


def _reason(error: InvalidInput) -> Reason:
    match error:
        case NotSupported():
            return Reason.NOT_SUPPORTED
        case NotAllowed():
            return Reason.NOT_ALLOWED
    return Reason.INVALID_SPEC


def _looking(seen: Observed) -> Step | None:
    """A run waits for the look that is made for it; a pass follows. None is made for one that rests."""
    if not seen.look_is_due or seen.holds(RunCondition.ACCEPTED) or seen.status.phase in RESTING:
        return None
    looking = is_false(RunCondition.ACCEPTED, Reason.PREPARING, "Looking at what the cluster has.")
    return Step(conditions=(looking,), phase=Phase.PENDING, doing="looking at the cluster", blocks=True)


def _missing(problems: tuple[Finding, ...]) -> Step:
    """What no waiting pod would bring about. A new look comes by itself."""
    if not problems:
        return Step()
    reason = problems[0].reason or Reason.WAITING
    words = " ".join(problem.words for problem in problems)
    condition = is_false(RunCondition.ACCEPTED, reason, f"{words} The run goes on by itself when that is mended.")
    return Step(conditions=(condition,), phase=Phase.PENDING, doing=f"waits for its cluster: {reason}", blocks=True)
