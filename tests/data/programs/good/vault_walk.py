"""A key somewhere on a ring of rooms must be carried to the vault; uses dataclasses, an own generator and deque."""

import random
from collections import deque
from dataclasses import dataclass, field


@dataclass
class Ring:
    rooms: int
    key: int
    vault: int
    here: int = 0
    seen: deque = field(default_factory=lambda: deque(maxlen=4))


class VaultWalkEnv:
    def __init__(self, max_turns: int = 12, **kwargs):
        self.max_turns = max_turns
        self.ring = None
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed if seed is not None else 0)
        key, vault = rng.sample(range(1, 7), 2)
        self.ring = Ring(rooms=7, key=key, vault=vault)
        self.turns, self.carrying = 0, False
        return "You stand in room 0 of a ring of 7. Commands: \\boxed{left}, \\boxed{right}, \\boxed{take}, \\boxed{unlock}.", {}

    def step(self, action):
        self.turns += 1
        command = action.strip().removeprefix("\\boxed{").removesuffix("}").strip().lower()
        reward, done = 0.0, False
        if command in ("left", "right"):
            self.ring.here = (self.ring.here + (1 if command == "right" else -1)) % self.ring.rooms
            self.ring.seen.append(self.ring.here)
            text = f"Room {self.ring.here}."
        elif command == "take" and self.ring.here == self.ring.key and not self.carrying:
            self.carrying, reward, text = True, 0.5, "You have the key."
        elif command == "unlock" and self.ring.here == self.ring.vault and self.carrying:
            reward, done, text = 1.0, True, "The vault opens."
        else:
            text = "Nothing happens."
        if self.ring.here == self.ring.key and not self.carrying:
            text += " A key lies here."
        if self.ring.here == self.ring.vault:
            text += " Here is the vault."
        return text, reward, done, not done and self.turns >= self.max_turns, {"room": self.ring.here}
