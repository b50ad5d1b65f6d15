"""Counter-based random numbers: every draw is a function of the run's seed, its purpose and where it is used.

No generator is kept between uses, so any process can repeat any draw at any time, in any order (design §8).
"""

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SEED_BITS = 31


class Purpose(StrEnum):
    """What a draw is for. Keys follow in the order that each line names; the values are part of the draws."""

    DESIGN = "design"
    """Sampling of a program: cycle, slot, attempt."""
    FAMILY = "family"
    """Level of a procedural family's problem: cycle, slot."""
    CORPUS = "corpus"
    """Choice of a document: cycle, slot, attempt."""
    MEMORY = "memory"
    """Choice of examples: cycle, slot, attempt."""
    HINT = "hint"
    """Sampling of a hint: cycle, slot, attempt of the program, attempt of the hint."""
    VERIFY = "verify"
    """Seeds and actions of the gate: cycle, slot, attempt."""
    CANARY = "canary"
    """Choice, texts and places of the canaries that the gate is tried on: cycle."""
    EPISODE = "episode"
    """An environment's reset: cycle, slot, rollout within the cycle, play. Both arms share it."""
    TURN = "turn"
    """Sampling of a player's turn: rollout, slot, 1 if hinted, play, turn."""
    BATCH = "batch"
    """Choice of the plays that stay in a batch: rollout."""
    BRIEF = "brief"
    """Service and kind of task of a tool prompt, or ideas of a game prompt: cycle, slot, attempt."""
    POOL = "pool"
    """Order of a fixed pool: how often it was gone through."""
    JUDGE = "judge"
    """Sampling of the policy's answer as judge: the first 8 bytes of the question's SHA-256."""
    PROBE = "probe"
    """Tokens of the weight proof's probe: no keys."""


def _digest(run_seed: int, purpose: Purpose, keys: tuple[int, ...]) -> bytes:
    """32 bytes that no other purpose or keys give."""
    return hashlib.sha256("/".join(["spade", str(run_seed), purpose, *map(str, keys)]).encode()).digest()


def seed_for(run_seed: int, purpose: Purpose, *keys: int) -> int:
    """A seed in [0, 2**31): small enough for every generator that a program or an engine may feed it to."""
    return int.from_bytes(_digest(run_seed, purpose, keys)[:8], "big") >> (64 - SEED_BITS)


def generator(run_seed: int, purpose: Purpose, *keys: int) -> "np.random.Generator":
    """A fresh numpy generator (Philox, 128-bit key) for one place; two calls with the same arguments draw the same."""
    import numpy as np

    key = int.from_bytes(_digest(run_seed, purpose, keys)[:16], "big")
    return np.random.Generator(np.random.Philox(key=key))
