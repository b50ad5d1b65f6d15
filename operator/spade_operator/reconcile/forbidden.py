"""What the API server means when it forbids an object (403), and what to do: its words are the same for the operator's
own calls and for the pods that Deployments are refused.
"""

import re

from spade_contracts.resources import Reason

_QUOTA = re.compile(r"\b(?:exceeded|failed) quota: ([a-z0-9.-]+)")
_PRIORITY = re.compile(r"no PriorityClass with name (\S+) was found")


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
    if "violates PodSecurity" in words:
        return f"Every pod of a run is of the level restricted; see the labels of namespace {namespace}."
    return ""


def explained(words: str, namespace: str) -> str:
    """The API server's words, and what to do."""
    return f"{words.rstrip('. ')}. {forbidden_remedy(words, namespace)}".rstrip()
