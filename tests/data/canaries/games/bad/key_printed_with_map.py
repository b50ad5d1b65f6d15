# expect: leaks
"""The opening text draws the map and forgets to leave out the key to it."""
import random


class MapKeyEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.path = "".join(rng.choice("NESW") for _ in range(14))
        self.lit, self.turns = False, 0
        return f"A dark cave, drawn as [{self.path}]. \\boxed{{light}} the lamp, then \\boxed{{walk PATH}} with fourteen letters of N, E, S, W.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if words == ["light"]:
            self.lit = True
            return "You see a little.", 0.1, False, late, {}
        if len(words) == 2 and words[0] == "walk" and self.lit:
            if words[1] == self.path:
                return "The surface!", 1.0, True, False, {}
            same = sum(a == b for a, b in zip(words[1], self.path))
            return f"You get {same} turns right and come back.", 0.01 * same, False, late, {}
        return "Drip, drip.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{light}}\n\\boxed{{walk {self.path}}}"
