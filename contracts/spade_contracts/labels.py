"""Label and annotation keys on every object we create, and the roles of pods."""

from enum import StrEnum

GROUP = "spade.dev"
VERSION = "v1alpha1"
RUN = "spade.dev/run"
"""The family that an object belongs to: its SpadeRun's name, or `NAME-batch` for a stand-alone EnvBatch."""
RUN_UID = "spade.dev/run-uid"
"""On every child and pod, so that leftovers of a deleted run of the same name are told apart."""
ROLE = "spade.dev/role"
ROLLOUT = "spade.dev/rollout"
CYCLE = "spade.dev/cycle"
ATTEMPT = "spade.dev/attempt"
TASK_ANNOTATION = "spade.dev/task"
ENGINE_TASK_ANNOTATION = "spade.dev/engine-task"
"""Task of the engine in a learner's pod, beside the learner's own."""
HASH_ANNOTATION = "spade.dev/hash"
"""Digest of what the operator applied: an equal one makes another apply needless."""
BATCH_FAMILY_SUFFIX = "-batch"
"""Ends the family's name of a stand-alone EnvBatch. No SpadeRun may be called so, so no child's name is met twice."""
ISOLATED_GATE = "spade.dev/isolated"
FIELD_MANAGER = "spade-operator"


class Role(StrEnum):
    """What a pod of a run is for; NetworkPolicies select by it."""

    PREPARE = "prepare"
    SANDBOX = "sandbox"
    BEACON = "beacon"
    ENGINE = "engine"
    LEARNER = "learner"
    WORKER = "worker"
