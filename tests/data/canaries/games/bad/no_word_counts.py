# expect: solution
"""A choir that sings on whatever the conductor does."""


class ChoirEnv:
    def __init__(self, max_turns=10, **kwargs):
        self.max_turns = max_turns
        self.bars = 0

    def reset(self, seed=None):
        self.bars = 0
        return "The choir sings. Lead it with \\boxed{louder}, \\boxed{softer} or \\boxed{stop}.", {"seed": seed or 0}

    def step(self, action):
        self.bars += 1
        return "The choir sings on.", 0.1, False, self.bars >= self.max_turns, {}
