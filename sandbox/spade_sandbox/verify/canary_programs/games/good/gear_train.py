# expect: accepted
"""A rotor of letters is turned until its window shows the password; each lever turns two rings."""
import random


class GearTrainEnv:
    LEVERS = {"a": (0, 1), "b": (1, 2), "c": (2, 3), "d": (3, 0), "e": (0, 2)}

    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.pulls = [rng.choice(sorted(self.LEVERS)) for _ in range(7)]
        self.rings = [0, 0, 0, 0]
        self.goal = self._turned(self.pulls)
        while self.goal == [0, 0, 0, 0] or len(set(self.goal)) == 1:
            self.pulls.append(rng.choice(sorted(self.LEVERS)))
            self.goal = self._turned(self.pulls)
        self.turns, self.done = 0, []
        return self._view("The rings stand at zero."), {}

    def _turned(self, pulls):
        rings = [0, 0, 0, 0]
        for pull in pulls:
            for ring in self.LEVERS[pull]:
                rings[ring] = (rings[ring] + 1) % 6
        return rings

    def _view(self, text):
        return f"{text} Rings {self.rings}, wanted {self.goal}. Levers: \\boxed{{a}} to \\boxed{{e}}, \\boxed{{zero}} turns all back."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if word == "zero":
            self.done = []
        elif word in self.LEVERS:
            self.done.append(word)
        else:
            return self._view("No such lever."), 0.0, False, late, {}
        self.rings = self._turned(self.done)
        if self.rings == self.goal:
            return "It unlocks.", 1.0, True, False, {}
        return self._view("Crunch."), 0.0, False, late, {}

    def solution(self):
        rest = [*self.pulls] if not self.done else ["zero", *self.pulls]
        rings, kept = None, []
        for pull in rest:
            kept.append(pull)
            rings = self._turned([one for one in kept if one != "zero"])
            if rings == self.goal:
                break
        return "\n".join(f"\\boxed{{{pull}}}" for pull in kept)
