"""What the API server means when it forbids an object (403), and what to do: its words are the same for the operator's
own calls and for the pods that Deployments are refused. Of a Job's pods only quotas can be reckoned.
"""

import re

from spade_contracts.labels import Role
from spade_contracts.resources import Reason
from spade_operator.children.owner import Run
from spade_operator.preflight.plan import plan_of
from spade_operator.preflight.quotas import refusing
from spade_operator.reconcile.observe import AnyPicture
from spade_operator.records import RunRecord

_QUOTA = re.compile(r"\b(?:exceeded|failed) quota: ([a-z0-9.-]+)")
_RUNTIME = re.compile(r"RuntimeClass \"?\S+ not found")
_PRIORITY = re.compile(r"no PriorityClass with name (\S+) was found")


def quota_against(seen: AnyPicture, role: Role) -> str:
    """Which quota keeps a run's Job from getting a pod, as far as it was looked at: a Job itself does not tell."""
    if seen.around is None or not seen.around.quotas or not isinstance(seen.head, RunRecord) or seen.head.spec is None:
        return ""
    meta = seen.head.meta
    plan = plan_of(Run(meta.namespace, meta.name, meta.uid, seen.head.spec), seen.site)
    return next((refusing(pods, seen.around.quotas) for pods in plan.all_pods if pods.role is role), "")


def forbidden_reason(words: str) -> Reason:
    """A quota that is used up, or anything else that refuses."""
    return Reason.QUOTA_EXCEEDED if _QUOTA.search(words) else Reason.REFUSED


def forbidden_remedy(words: str, namespace: str) -> str:
    """What lets the object in; '' when its words are all that is known."""
    if quota := _QUOTA.search(words):
        return (
            f"Raise the quota, lower the run's requests and numbers of pods, or free what uses it: "
            f"kubectl -n {namespace} describe resourcequota {quota[1]}."
        )
    if _PRIORITY.search(words):
        return "Correct priorityClassName in the pod settings (kubectl get priorityclasses), or have the class made."
    if _RUNTIME.search(words):
        return "Install gVisor and make its RuntimeClass (value runtimeClass.create): kubectl get runtimeclasses."
    if "violates PodSecurity" in words:
        return f"Every pod of a run is of the level restricted; see the labels of namespace {namespace}."
    return ""


def explained(words: str, namespace: str) -> str:
    """The API server's words, and what to do."""
    return f"{words.rstrip('. ')}. {forbidden_remedy(words, namespace)}".rstrip()
