"""Game 21 of rollout 20: Mathematical Reasoning."""

# A game about linear congruences.
# The register can only be changed by two operations, whose constants must be found out.

from __future__ import annotations

import math, random
from enum import Enum
from fractions import Fraction

MODULI = [11, 13, 17, 19]


class Phase(Enum):
    EXPLORE = "explore"
    SOLVED = "solved"


def inverse(a: int, m: int) -> int:
    """Inverse of a modulo m by trying all; m is small."""
    for x in range(1, m):
        if (a * x) % m == 1:
            return x
    raise ValueError(f"{a} has no inverse modulo {m}")


class RegisterBase:
    """What every register game has."""

    max_turns = 20

    def _boxed(self, action: str) -> str:
        start = action.rfind("\\boxed{")
        if start < 0:
            return ""
        return action[start + len("\\boxed{"):].split("}")[0].strip()


class CongruenceRegisterEnv(RegisterBase):

    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.modulus = MODULI[0]
        self.a = self.b = self.x = self.start = self.key = 1
        self.phase = Phase.EXPLORE
        self.t = 0
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed) if seed is not None else random.Random(1)
        self.modulus = rng.choice(MODULI)
        self.a = rng.randrange(2, self.modulus)
        self.b = rng.randrange(1, self.modulus)
        self.key = rng.randrange(2, self.modulus)
        self.wanted = (self.a * self.key + self.b) % self.modulus
        self.phase = Phase.EXPLORE
        self.t = 0
        return (
            f"A register computes $x \\mapsto ax + b$ modulo {self.modulus}, with hidden $a$ and $b$. "
            f"Which $x$ gives {self.wanted}? Try values with \\boxed{{feed x}}, where $x \\in \\{{0, 1\\}}$ only, "
            f"and then open the register with \\boxed{{open x}}."
        ), {"modulus": self.modulus}

    def step(self, action: str):
        self.t += 1
        over = self.t >= self.max_turns
        parts = self._boxed(action).split()
        if len(parts) != 2 or parts[0] not in ("feed", "open") or not (parts[1].isascii() and parts[1].isdigit()) or len(parts[1]) > 3:
            return "Say \\boxed{feed x} or \\boxed{open x}.", 0.0, False, over, {}
        x = int(parts[1])
        if parts[0] == "feed":
            if x not in (0, 1):
                return "The slot takes 0 and 1.", 0.0, False, over, {}
            share = Fraction(self.t, self.max_turns)
            value = (self.a * x + self.b) % self.modulus
            return f"Fed {x}, it shows {value}. Time used: {share}.", 0.1, False, over, {"gcd": math.gcd(x, self.modulus)}
        if x == self.key:
            self.phase = Phase.SOLVED
            return "The register opens.", 1.0, True, False, {"phase": self.phase.value}
        self.t += 2
        return "It stays shut, and that cost time.", 0.0, False, self.t >= self.max_turns, {}

    def solution(self):
        x = ((self.wanted - self.b) * inverse(self.a, self.modulus)) % self.modulus
        return f"Feed both values with \\boxed{{feed 0}} and \\boxed{{feed 1}}, solve for x, and then \\boxed{{open {x}}}."


if __name__ == "__main__":
    env = CongruenceRegisterEnv()
    print(env.reset(seed=3)[0])
    print(env.step(env.solution()))
