"""How a policy's tensors get into an engine: one interface, one file for each way."""

from dataclasses import dataclass
from typing import Protocol

from spade_contracts.manifests import PolicyManifest
from spade_trainer.weights.engine_client import EngineClient


@dataclass(frozen=True)
class Policy:
    """A policy that can be handed over."""

    manifest: PolicyManifest
    uri: str
    """Its folder in run storage."""


@dataclass(frozen=True)
class Transfer:
    """What a transport can say after it: which engine process took it, and whether its bytes were the policy's."""

    boot_id: str
    checksum_equal: bool
    seconds: float


class Transport(Protocol):
    """One way of handing a policy to an engine."""

    @property
    def name(self) -> str:
        """Label of `spade_weight_sync_seconds`."""

    async def transfer(self, engine: EngineClient, policy: Policy) -> Transfer:
        """Hand over a policy; the engine is unproven afterwards. Raises EngineFault."""
