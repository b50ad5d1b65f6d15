"""A program under judgement for stages that run nothing."""

from spade_contracts.config import SandboxLimits, VerificationSettings
from spade_contracts.config.environments import Domain
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify.trial import Program


def judged(source: str, domain: Domain = Domain.GAMES, settings: VerificationSettings | None = None) -> Program:
    """With a pool that nobody opens."""
    pool = SandboxPool("127.0.0.1:1", "token")
    return Program(source, pool, SandboxLimits(), domain=domain, settings=settings or VerificationSettings())
