"""A run with a queue is one Workload of Kueue: nothing of it runs before that is admitted, and all of it goes when
Kueue wants the quota back. What Kueue expects of whoever owns a Workload is done here: to stop when it is evicted, to
give the reservation back only then, and to say when all is ready and when all is done.
"""

from datetime import datetime

from spade_contracts.resources import Reason, RunCondition
from spade_operator.queueing import places
from spade_operator.reconcile.expiry import ended
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.pod_sets import asked, workload_of
from spade_operator.reconcile.steps import (
    Action,
    Create,
    MarkWorkload,
    Remove,
    Step,
    WorkloadMark,
    is_false,
    is_true,
)
from spade_operator.reconcile.suspend import pods_back, suspended_now
from spade_operator.records import WorkloadRecord

AT_ONCE_REQUEUED = frozenset({"Preempted", "NodeFailures"})
"""Evictions after which a Workload is in its queue again at once; of others Kueue says when."""
READY = (RunCondition.ISOLATED, RunCondition.WEIGHTS_VERIFIED)
"""What work waits for: sandboxes are proven, and engines at the run's policy."""
WAITS = "The run waits in its queue"


def admitted(seen: Observed) -> bool:
    """Whether the run may have pods: it has no queue, or Kueue has admitted what it asks for now. While that is not
    known, what is there may stay.
    """
    if seen.spec.queue_name is None or seen.queueing.served is None:
        return True
    found = seen.workload
    if found is None or found.meta.deleting or found.asked != asked(seen.spec):
        return False
    return found.standing.runs and places(found.standing, seen.queueing) is not None


def workload(seen: Observed, now: datetime) -> Step:
    """Keep the Workload true: there while the run wants to run, and marked with what came of it.

    A suspended run has none, so that it holds no quota and no place in the queue. One that asks for something else than
    was admitted gets a new one.
    """
    found = seen.workload
    if found is not None and found.meta.deleting:
        return Step()
    if seen.spec.queue_name is None:
        return Step(_removed(found))
    if found is None:
        # Pods of an earlier one go first: they would be counted for nobody.
        return Step(() if ended(seen) or suspended_now(seen) or _holds_pods(seen) else _made(seen))
    return Step(_told(seen, found) if ended(seen) else _kept(seen, found))


def _told(seen: Observed, found: WorkloadRecord) -> tuple[Action, ...]:
    """The quota is free again as soon as no pod uses it."""
    return () if found.standing.finished or _holds_pods(seen) else (_finish(seen, found),)


def _kept(seen: Observed, found: WorkloadRecord) -> tuple[Action, ...]:
    standing, held = found.standing, _holds_pods(seen)
    other = suspended_now(seen) or found.asked != asked(seen.spec)
    if standing.finished or (other and not held):
        return _removed(found)
    if standing.evicted and standing.reserved:
        return () if held else (_give_back(found),)
    if not other and admitted(seen) and not standing.pods_ready and all(map(seen.holds, READY)):
        ready = WorkloadMark("PodsReady", True, "Started", "Sandboxes and engines are proven")
        return (MarkWorkload(found, (ready,)),)
    return ()


def queued(seen: Observed, now: datetime) -> Step:
    """Hold the run without pods until it is admitted; suspend says what ends with the wait."""
    if admitted(seen):
        return Step()
    words = _words(seen)
    if seen.pods:
        condition = is_false(RunCondition.SUSPENDED, Reason.SUSPENDING, f"Pods are being given back. {words}")
    else:
        condition = is_true(RunCondition.SUSPENDED, Reason.QUEUED, words)
    return pods_back(seen, condition, Reason.QUEUED, WAITS, "queued")


def _words(seen: Observed) -> str:
    queue, found = f"LocalQueue {seen.spec.queue_name}", seen.workload
    if found is None or found.meta.deleting or found.standing.finished or found.asked != asked(seen.spec):
        name = seen.spec.learner.pod.priority_class_name
        unknown = name is not None and name not in seen.queueing.priorities
        lacks = f" PriorityClass {name} of spec.learner.pod is not known yet." if unknown else ""
        return f"{queue}: the run's Workload is to be made anew.{lacks}"
    if found.standing.runs:
        names = sorted({n for given in found.standing.flavors.values() for n in given} - seen.queueing.flavors.keys())
        return f"{queue}: the run is admitted; ResourceFlavor {', '.join(names)} is not known yet."
    return f"{queue}: {found.standing.words or 'Kueue has not looked at the run yet.'}"


def _holds_pods(seen: Observed) -> bool:
    """Whether there are pods, or something that may still make some."""
    jobs = any(not (job.complete or job.failed or job.meta.deleting) for job in seen.jobs.values())
    return bool(seen.pods) or jobs or any(not one.meta.deleting for one in seen.deployments.values())


def _removed(found: WorkloadRecord | None) -> tuple[Action, ...]:
    return () if found is None else (Remove(found),)


def _made(seen: Observed) -> tuple[Action, ...]:
    """Nothing while the value of the learner's PriorityClass is not known: Kueue orders its queues by it."""
    name = seen.spec.learner.pod.priority_class_name
    priority = None if name is None else seen.queueing.priorities.get(name)
    if name is not None and priority is None:
        return ()
    return (Create(workload_of(seen.parent, seen.site, priority)),)


def _give_back(found: WorkloadRecord) -> MarkWorkload:
    """End the reservation of an evicted Workload whose pods are gone, so that Kueue can queue it again."""
    reason, words = found.standing.evicted, found.standing.words
    marks = [
        WorkloadMark("Requeued", reason in AT_ONCE_REQUEUED, reason, words),
        WorkloadMark("QuotaReserved", False, "Pending", words),
        WorkloadMark("Admitted", False, "NoReservation", "The workload has no reservation"),
    ]
    if found.standing.pods_ready:
        marks.append(WorkloadMark("PodsReady", False, "WaitForStart", "The run's pods are gone"))
    return MarkWorkload(found, tuple(marks), gives_back=True)


def _finish(seen: Observed, found: WorkloadRecord) -> MarkWorkload:
    succeeded = seen.holds(RunCondition.COMPLETE)
    end = seen.condition(RunCondition.COMPLETE if succeeded else RunCondition.FAILED)
    words = end.message if end is not None else ""
    return MarkWorkload(found, (WorkloadMark("Finished", True, "Succeeded" if succeeded else "Failed", words),))
