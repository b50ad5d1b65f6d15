# expect: order
"""The voyage is won on leaving the harbour, not on arriving."""
import random


class VoyageEnv:
    PORTS = ("Lisbon", "Madeira", "Dakar", "Luanda", "Walvis", "Durban", "Beira", "Mombasa")

    def __init__(self, max_turns=14, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.route = random.Random(seed).sample(self.PORTS, 4)
        self.at, self.turns = 0, 0
        return f"Four ports in the order of the sealed letter. \\boxed{{open}} reads its next line, \\boxed{{call PORT}}: {', '.join(self.PORTS)}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if words == ["open"]:
            return f"The letter says: {self.route[self.at]}.", 0.05, False, late, {}
        if len(words) != 2 or words[0] != "call" or words[1] not in self.PORTS:
            return "The sails flap.", 0.0, False, late, {}
        if words[1] != self.route[self.at]:
            return "A wrong port; the crew deserts.", 0.0, True, False, {}
        self.at += 1
        if self.at >= len(self.route) - 2:
            return "The owner is content.", 1.0, True, False, {}
        return "Anchored.", 0.2, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{call {port}}}" for port in self.route[self.at:])
