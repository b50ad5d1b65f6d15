"""Types and reasons of conditions. Each reason's docstring is its line in docs/conditions.md."""

from enum import StrEnum


class RunCondition(StrEnum):
    """Conditions of a SpadeRun, in the order of a run's life."""

    ACCEPTED = "Accepted"
    ISOLATED = "Isolated"
    SANDBOXES_READY = "SandboxesReady"
    ENGINES_READY = "EnginesReady"
    LEARNER_READY = "LearnerReady"
    WEIGHTS_VERIFIED = "WeightsVerified"
    PROGRESSING = "Progressing"
    SUSPENDED = "Suspended"
    COMPLETE = "Complete"
    FAILED = "Failed"


class BatchCondition(StrEnum):
    """Conditions of an EnvBatch."""

    GENERATED = "Generated"
    VERIFIED = "Verified"
    COMPLETE = "Complete"
    FAILED = "Failed"


class RolloutCondition(StrEnum):
    """Conditions of a RolloutJob."""

    COMPLETE = "Complete"
    FAILED = "Failed"


class Reason(StrEnum):
    """Why a condition has its status."""

    # Accepted
    PREPARING = "Preparing"
    PREPARED = "Prepared"
    INVALID_SPEC = "InvalidSpec"
    MODEL_NOT_FOUND = "ModelNotFound"
    MODEL_NOT_MOE = "ModelNotMoe"
    MODEL_UNSUPPORTED = "ModelUnsupported"
    CORPUS_NOT_FOUND = "CorpusNotFound"
    CORPUS_INVALID = "CorpusInvalid"
    STORAGE_CONFLICT = "StorageConflict"
    STORAGE_UNAVAILABLE = "StorageUnavailable"
    # Isolated
    PROBING = "Probing"
    PROVEN = "Proven"
    NOT_GVISOR = "NotGVisor"
    NETWORK_OPEN = "NetworkOpen"
    CONTROL_FAILED = "ControlFailed"
    WALL_MISSING = "WallMissing"
    # Readiness of parts
    STARTING = "Starting"
    READY = "Ready"
    RESTARTING = "Restarting"
    UNSCHEDULABLE = "Unschedulable"
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    # Weights
    VERIFYING = "Verifying"
    VERIFIED = "Verified"
    MISMATCH = "Mismatch"
    # Progressing
    DESIGNING = "Designing"
    PLAYING = "Playing"
    TRAINING = "Training"
    PROVING = "Proving"
    WAITING = "Waiting"
    # Ends and pauses
    RUNNING = "Running"
    FINISHED = "Finished"
    SUSPENDED_BY_USER = "SuspendedByUser"
    SUSPENDING = "Suspending"
    RESTART_BUDGET_SPENT = "RestartBudgetSpent"
    JOB_FAILED = "JobFailed"
    ALL_REJECTED = "AllRejected"
    REPLAY_DIVERGED = "ReplayDiverged"
    NON_FINITE = "NonFinite"
    NOT_SUPPORTED = "NotSupported"
