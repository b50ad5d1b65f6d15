"""What a worker is doing at this moment: the one thing that changes while it works, read by its status port."""

from collections import Counter
from dataclasses import dataclass, field

from spade_contracts.statuses import WorkerStatus
from spade_sandbox.client import PoolStats


@dataclass
class Progress:
    """Changing counts of one worker."""

    boot_id: str
    stage: str = "starting"
    planned: int = 0
    done: int = 0
    verifier_failures: Counter[str] = field(default_factory=Counter)
    sandboxes: PoolStats = field(default_factory=PoolStats)
    """Of the pool in use; a fresh one before there is a pool."""
    error: str = ""

    def status(self) -> WorkerStatus:
        """The answer of `GET /status`."""
        return WorkerStatus(
            boot_id=self.boot_id,
            stage=self.stage,
            planned=self.planned,
            done=self.done,
            sessions_open=self.sandboxes.open,
            sessions_wanted=self.sandboxes.wanted,
            verifier_failures=dict(self.verifier_failures),
            error=self.error[:1000],
        )
