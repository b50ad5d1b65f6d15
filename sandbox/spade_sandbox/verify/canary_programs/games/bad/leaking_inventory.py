# expect: contract
"""The bag belongs to the class, so what was collected in one episode is still there in the next."""
import random


class CollectorEnv:
    bag = []

    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.wanted = rng.sample(["shell", "feather", "amber", "coin", "fern", "bead"], 3)
        self.turns = 0
        return f"Bring {', '.join(self.wanted)}. \\boxed{{THING}} collects. You carry {len(self.bag)} things.", {}

    def step(self, action):
        self.turns += 1
        self.bag.append(action.strip().removeprefix("\\boxed{").removesuffix("}")[:20])
        if set(self.wanted) <= set(self.bag):
            return "All there.", 1.0, True, False, {}
        return f"You carry {len(self.bag)} things.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{thing}}}" for thing in self.wanted)
