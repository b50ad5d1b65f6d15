"""Names of children, computed from their parents' so that no pass must remember them (design §6)."""

import hashlib

from spade_contracts.labels import BATCH_FAMILY_SUFFIX, Role

MAX_NAME = 58
"""Room for an indexed pod's `-1023` in the 63 characters of a host name."""


def child_name(parent: str, *parts: str) -> str:
    """`parent-part-part`. Longer than MAX_NAME, the middle gives way to a digest of the whole."""
    whole = "-".join((parent, *parts))
    if len(whole) <= MAX_NAME:
        return whole
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    tail = "-".join(("", digest, *parts))[-MAX_NAME + 8 :]
    return whole[: MAX_NAME - len(tail)].rstrip("-") + tail


def pool_family(batch: str) -> str:
    """Family of a stand-alone EnvBatch, which no run can be called: `pool-batch`."""
    return f"{batch}{BATCH_FAMILY_SUFFIX}"


def batch_of(family: str) -> str:
    """The stand-alone EnvBatch that a family is of, or '' when it is a run's."""
    return family.removesuffix(BATCH_FAMILY_SUFFIX) if family.endswith(BATCH_FAMILY_SUFFIX) else ""


def claim_name(run: str) -> str:
    """The claim that holds run storage, when the operator makes it."""
    return child_name(run, "storage")


def role_name(run: str, role: Role) -> str:
    """Deployment and Service of a role: `mini-sandbox`, `mini-engine`, `mini-beacon`, `mini-learner` (Service only)."""
    return child_name(run, role)


def tokens_name(run: str, role: Role) -> str:
    """Secret with the tokens or digests of a role."""
    return child_name(run, role, "tokens")


def targets_name(run: str) -> str:
    """ConfigMap with the targets of the isolation probe."""
    return child_name(run, "probe")


def prepare_job_name(run: str, attempt: int = 0) -> str:
    """The preparation Job: `mini-prepare`, and `mini-prepare-a1` for a later attempt."""
    return child_name(run, Role.PREPARE, *([f"a{attempt}"] if attempt else []))


def workload_name(run: str) -> str:
    """What Kueue admits."""
    return child_name(run, "workload")


def cleanup_job_name(run: str) -> str:
    """The Job that deletes the run's folder in run storage."""
    return child_name(run, "cleanup")


def learner_job_name(run: str, attempt: int) -> str:
    """The learner's Indexed Job; the whole group is replaced under the next attempt's name."""
    return child_name(run, Role.LEARNER, f"a{attempt}")


def env_batch_name(run: str, cycle: int, topup: int | None = None) -> str:
    """The EnvBatch of a cycle: `mini-c0004`; one that tops it up for a rollout: `mini-c0004-r0006`."""
    return child_name(run, f"c{cycle:04d}", *([f"r{topup:04d}"] if topup is not None else []))


def rollout_job_name(run: str, rollout: int) -> str:
    """The RolloutJob of a rollout: `mini-r0007`."""
    return child_name(run, f"r{rollout:04d}")


def design_job_name(batch: str, attempt: int) -> str:
    """The Job of an EnvBatch: `mini-c0004-design-a0`."""
    return child_name(batch, "design", f"a{attempt}")


def verify_job_name(batch: str, attempt: int) -> str:
    """The Job of a stand-alone EnvBatch: `pool-verify-a0`."""
    return child_name(batch, "verify", f"a{attempt}")


def play_job_name(rollout_job: str, attempt: int) -> str:
    """The Job of a RolloutJob: `mini-r0007-play-a0`."""
    return child_name(rollout_job, "play", f"a{attempt}")


def service_host(service: str, namespace: str) -> str:
    """DNS name of a Service that resolves from any pod, whatever the cluster's domain."""
    return f"{service}.{namespace}.svc"
