# expect: leaks
"""Three animals are guessed one after the other; a wrong guess is compared with the right one aloud."""
import random


class AnimalTrailEnv:
    ANIMALS = ("badger", "beaver", "bobcat", "condor", "coyote", "falcon", "ferret", "gibbon", "jackal", "jaguar",
               "magpie", "marmot", "monkey", "ocelot", "osprey", "parrot", "rabbit", "turtle", "walrus", "weasel")

    def __init__(self, max_turns=15, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.trail = random.Random(seed).sample(self.ANIMALS, 3)
        self.found, self.turns = 0, 0
        return "Three animals of six letters have left traces. Name the first with \\boxed{ANIMAL}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        name = action.strip().removeprefix("\\boxed{").removesuffix("}").lower()
        if name not in self.ANIMALS:
            return "No animal of six letters that lives here.", self.found / 10, False, late, {}
        wanted = self.trail[self.found]
        if name != wanted:
            return f"A {name} has smaller paws than a {wanted}. Try again.", self.found / 10, False, late, {}
        self.found += 1
        if self.found == 3:
            return "All three are found.", 1.0, True, False, {}
        return f"Right. Trace {self.found + 1} is next.", self.found / 10, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{name}}}" for name in self.trail[self.found:])
