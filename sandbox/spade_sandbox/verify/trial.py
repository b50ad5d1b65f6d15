"""What the stages that run programs share: a session with a transcript, and what its faults mean."""

from dataclasses import dataclass, field

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault
from spade_contracts.verdicts import Reason, Stage, Verdict, rejected
from spade_sandbox.client import SandboxPool, SandboxSession, StepResult

FULL_REWARD = 1.0 - 1e-6
"""Full success is 1.0 (method.md §2.2); programs add it up in floating point."""
SHOWN_CHARACTERS = 300


@dataclass(frozen=True)
class Program:
    """A program to judge, and where and within what it runs."""

    source: str
    pool: SandboxPool
    limits: SandboxLimits
    wait_seconds: float
    """How long a session may wait for a pod."""


@dataclass
class Transcript:
    """What was done with one session and what came back; evidence of a verdict."""

    lines: list[str] = field(default_factory=list)

    async def reset(self, session: SandboxSession, seed: int) -> str:
        """Reset and note it."""
        observation = await session.reset(seed)
        self.lines.append(f"reset(seed={seed}) -> {observation[:SHOWN_CHARACTERS]!r}")
        return observation

    async def step(self, session: SandboxSession, action: str) -> StepResult:
        """Step and note it."""
        result = await session.step(action)
        shown = result.observation[:SHOWN_CHARACTERS]
        ends = f"terminated={result.terminated}, truncated={result.truncated}"
        self.lines.append(f"step({action[:SHOWN_CHARACTERS]!r}) -> {shown!r}, reward={result.reward}, {ends}")
        return result

    def rejection(self, stage: Stage, reason: Reason, message: str) -> Verdict:
        """A rejection with this transcript as its evidence."""
        return rejected(stage, reason, message, tuple(self.lines))

    def fault(self, stage: Stage, error: EnvironmentFault) -> Verdict:
        """The rejection that a program's fault means."""
        self.lines.append(f"fault: {error}")
        return self.rejection(stage, Reason(error.kind), str(error))


def wins(result: StepResult) -> bool:
    """Whether a step ends the episode with full reward (method.md §5.1)."""
    return result.terminated and result.reward >= FULL_REWARD


def over(result: StepResult) -> bool:
    """Whether a step ends the episode."""
    return result.terminated or result.truncated
