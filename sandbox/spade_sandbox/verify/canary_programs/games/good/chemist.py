# expect: accepted
"""A solution must be brought to a wanted strength; bottles of unknown strength are tested before they are poured."""
import random
from fractions import Fraction


class ChemistEnv:
    def __init__(self, max_turns=16, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        labels = ["A", "B", "C", "D"]
        self.strength = dict(zip(labels, rng.sample(range(5, 95, 3), 4)))
        self.plan = [rng.choice(labels) for _ in range(4)]
        if len(set(self.plan)) == 1:
            self.plan[0] = "A" if self.plan[0] != "A" else "B"
        self.goal = Fraction(sum(self.strength[label] for label in self.plan), 4)
        self.poured, self.turns = [], 0
        return f"Mix exactly four measures to a strength of {self.goal}. \\boxed{{test A}} tells a bottle's strength (A to D), \\boxed{{pour A}} adds one measure, \\boxed{{rinse}} starts anew.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if words == ["rinse"]:
            self.poured = []
            return "The flask is clean.", 0.0, False, late, {}
        if len(words) != 2 or words[1] not in self.strength:
            return "The flask waits.", 0.0, False, late, {}
        if words[0] == "test":
            return f"Bottle {words[1]} has {self.strength[words[1]]}.", 0.05, False, late, {}
        if words[0] != "pour":
            return "The flask waits.", 0.0, False, late, {}
        self.poured.append(self.strength[words[1]])
        now = Fraction(sum(self.poured), len(self.poured))
        if len(self.poured) < 4:
            return f"{len(self.poured)} measures of strength {now}.", 0.0, False, late, {}
        if now == self.goal:
            return "Crystal clear.", 1.0, True, False, {}
        self.poured = []
        return f"Strength {now}: it foams over. The flask is empty.", 0.0, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{line}}}" for line in ["rinse", *(f"pour {label}" for label in self.plan)])
