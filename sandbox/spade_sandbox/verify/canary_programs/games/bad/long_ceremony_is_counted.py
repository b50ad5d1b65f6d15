# expect: order
"""A tea ceremony of fourteen gestures in the right sequence, of which the host only keeps a count."""
import random


class TeaCeremonyEnv:
    GESTURES = ("bow", "kneel", "rinse", "warm", "scoop", "pour", "whisk", "turn", "offer", "sip", "wipe", "fold",
                "admire", "return", "thank", "rise", "nod", "wait")
    LENGTH = 14

    def __init__(self, max_turns=25, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.wanted = random.Random(seed).sample(self.GESTURES, self.LENGTH)
        self.seen = set()
        self.turns = 0
        return (f"The host expects {self.LENGTH} gestures in the right sequence. Make one with \\boxed{{GESTURE}}; "
                "\\boxed{watch} shows what another guest does next."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        gesture = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if gesture == "watch":
            return f"The guest chose to {self.wanted[len(self.seen) % self.LENGTH]}.", 0.0, False, late, {}
        if gesture not in self.GESTURES:
            return "Nobody understands this gesture.", 0.0, False, late, {}
        if gesture not in self.wanted:
            return "The host is offended and leaves.", 0.0, True, False, {}
        self.seen.add(gesture)
        if len(self.seen) == self.LENGTH:
            return "The host smiles: a perfect ceremony.", 1.0, True, False, {}
        return f"{len(self.seen)} gestures were made.", len(self.seen) / 50, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{gesture}}}" for gesture in self.wanted)
