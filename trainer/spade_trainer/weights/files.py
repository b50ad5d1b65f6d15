"""Transport by files in run storage: the engine reads the exported policy itself. Works everywhere."""

import time
from dataclasses import dataclass

from spade_trainer.weights.engine_client import EngineClient
from spade_trainer.weights.transport import Policy, Transfer


@dataclass(frozen=True)
class FileTransport:
    """See the module."""

    name: str = "files"

    async def transfer(self, engine: EngineClient, policy: Policy) -> Transfer:
        """Have the engine read the policy's folder, and compare what it read with the policy's manifest."""
        began = time.monotonic()
        report = await engine.load(policy.manifest.policy_version, policy.uri)
        return Transfer(
            boot_id=report.boot_id,
            checksum_equal=(report.tensors_sha256, report.tensors)
            == (policy.manifest.tensors_sha256, policy.manifest.tensors),
            seconds=time.monotonic() - began,
        )
