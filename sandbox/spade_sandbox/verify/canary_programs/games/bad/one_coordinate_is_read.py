# expect: order
"""A wreck lies at a place of three numbers; the diver compares depth and bearing, and never the distance."""
import random


class WreckDiveEnv:
    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.wreck = (rng.randint(0, 359), rng.randint(10, 90), rng.randint(20, 80))
        self.turns = 0
        return ("A wreck lies somewhere: bearing 0 to 359, distance 10 to 90, depth 20 to 80. \\boxed{ping B D T} tells "
                "for each whether it is more or less; \\boxed{dive B D T} must be exact and is done once."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        numbers = [int(word) for word in words[1:] if word.isascii() and word.isdigit() and len(word) < 4]
        if len(numbers) != 3 or words[0] not in ("ping", "dive"):
            return "Three numbers, to ping or to dive.", 0.0, False, late, {}
        if words[0] == "ping":
            signs = ["more" if real > said else "less" if real < said else "right"
                     for real, said in zip(self.wreck, numbers)]
            return f"Bearing {signs[0]}, distance {signs[1]}, depth {signs[2]}.", 0.0, False, late, {}
        found = numbers[0] == self.wreck[0] and numbers[2] == self.wreck[2]
        return ("You stand on the wreck." if found else "Nothing but sand."), float(found), True, False, {}

    def solution(self):
        return "\\boxed{dive %d %d %d}" % self.wreck
