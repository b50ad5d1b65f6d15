# expect: accepted
"""A hidden cell on a strip is dug up; each dig says how far away it was, and a dig needs the right tool first."""
import random
import re


class ThermometerEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.cell = rng.randint(1, 90)
        self.tool = rng.choice(["spade", "drill", "pick"])
        self.held = None
        self.turns = 0
        return "A box lies below one of the cells 1 to 90. Take a tool (\\boxed{take spade}, drill or pick), then \\boxed{dig N}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        take = re.fullmatch(r"\s*\\boxed\{take (spade|drill|pick)\}\s*", action)
        dig = re.fullmatch(r"\s*\\boxed\{dig ([0-9]{1,2})\}\s*", action)
        if take:
            self.held = take.group(1)
            return f"You hold the {self.held}.", 0.0, False, late, {}
        if not dig:
            return "Commands: \\boxed{take TOOL} and \\boxed{dig N}.", 0.0, False, late, {}
        away = abs(int(dig.group(1)) - self.cell)
        if away:
            return f"Nothing here. The needle says {away}.", 0.1, False, late, {}
        if self.held != self.tool:
            return f"Metal below, but it does not yield to a {self.held or 'bare hand'}.", 0.5, False, late, {}
        return "The box is yours.", 1.0, True, False, {}

    def solution(self):
        return f"\\boxed{{take {self.tool}}}\n\\boxed{{dig {self.cell}}}"
