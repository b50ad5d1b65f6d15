# expect: accepted
"""Four weights are laid on the pans: any arrangement in balance is right, whichever the program itself names."""
import random


class BalancePansEnv:
    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        a, b, c = rng.randint(11, 30), rng.randint(31, 60), rng.randint(61, 90)
        stones = rng.sample(["red", "blue", "green", "white"], 4)
        self.weights = dict(sorted(zip(stones, (a + b, b + c, c, b + b + a))))
        self.heap = rng.sample(stones, 4)
        self.turns = 0
        return ("Put the red, blue, green and white stone on two pans so that they balance: "
                "\\boxed{pans STONE STONE STONE STONE}, the first two left. \\boxed{weigh STONE} tells a weight."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").lower().split()
        if len(words) == 2 and words[0] == "weigh" and words[1] in self.weights:
            return f"The {words[1]} stone has {self.weights[words[1]]} grams.", 0.0, False, late, {}
        if len(words) == 5 and words[0] == "pans" and set(words[1:]) == set(self.weights):
            left, right = (sum(self.weights[word] for word in side) for side in (words[1:3], words[3:]))
            if left == right:
                return "They balance.", 1.0, True, False, {}
            return f"The {'left' if left > right else 'right'} pan sinks.", 0.0, False, late, {}
        return "Weigh a stone or load the pans with all four.", 0.0, False, late, {}

    def solution(self):
        names = self.heap
        for other in names[1:]:
            rest = [name for name in names[1:] if name != other]
            if 2 * (self.weights[names[0]] + self.weights[other]) == sum(self.weights.values()):
                return "\\boxed{pans " + " ".join([names[0], other, *rest]) + "}"
        return ""
