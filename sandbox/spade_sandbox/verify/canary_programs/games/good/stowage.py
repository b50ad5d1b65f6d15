# expect: accepted
"""Six crates are to be stowed, heaviest first; what is taken off again counts no more."""
import random


class StowageEnv:
    CRATES = ("figs", "wool", "tea", "salt", "cork", "silk")

    def __init__(self, max_turns=25, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.loads = dict(zip(self.CRATES, rng.sample(range(20, 50), 6)))
        self.hold = []
        self.turns = 0
        crates = ", ".join(f"{name} {load}" for name, load in self.loads.items())
        return (f"Stow the cargo so that nothing lies on a lighter crate: {crates}. \\boxed{{stow CRATE}} puts one on "
                "top, \\boxed{unstow CRATE} takes the topmost off."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        verb, _, name = action.strip().removeprefix("\\boxed{").removesuffix("}").partition(" ")
        if verb == "stow" and name in self.loads and name not in self.hold:
            if self.hold and self.loads[self.hold[-1]] < self.loads[name]:
                return f"The {self.hold[-1]} would be crushed.", len(self.hold) / 10, False, late, {}
            self.hold.append(name)
        elif verb == "unstow" and self.hold and self.hold[-1] == name:
            self.hold.pop()
        else:
            return "The crew waits.", len(self.hold) / 10, False, late, {}
        if len(self.hold) == len(self.loads):
            return "The hold is full; cast off.", 1.0, True, False, {}
        return f"In the hold, from below: {', '.join(self.hold) or 'nothing'}.", len(self.hold) / 10, False, late, {}

    def solution(self):
        wanted = sorted(self.loads, key=lambda name: -self.loads[name])
        kept = 0
        while kept < len(self.hold) and self.hold[kept] == wanted[kept]:
            kept += 1
        moves = [f"unstow {name}" for name in reversed(self.hold[kept:])] + [f"stow {name}" for name in wanted[kept:]]
        return "\n".join(f"\\boxed{{{move}}}" for move in moves)
