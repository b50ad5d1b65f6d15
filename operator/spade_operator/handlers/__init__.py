"""kopf's event handlers: each keeps the fact and asks for a pass. Nothing is decided here."""

from spade_operator.handlers import (
    credentials,
    deployments,
    env_batches,
    jobs,
    network_policies,
    pods,
    rollout_jobs,
    spade_runs,
)

__all__ = [
    "credentials",
    "deployments",
    "env_batches",
    "jobs",
    "network_policies",
    "pods",
    "rollout_jobs",
    "spade_runs",
]
