# expect: accepted
"""Three animals are guessed one after the other, with three guesses each; a missed one is named and is lost."""
import random


class AnimalTrailEnv:
    ANIMALS = ("badger", "beaver", "bobcat", "condor", "coyote", "falcon", "ferret", "gibbon", "jackal", "jaguar",
               "magpie", "marmot", "monkey", "ocelot", "osprey", "parrot", "rabbit", "turtle", "walrus", "weasel")

    def __init__(self, max_turns=15, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.trail = random.Random(seed).sample(self.ANIMALS, 3)
        self.number, self.right, self.turns = 0, 0, 0
        return ("Three animals of six letters have left traces; each may be named once. \\boxed{trace} shows its first "
                "and last letter, \\boxed{ANIMAL} names it."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        name = action.strip().removeprefix("\\boxed{").removesuffix("}").lower()
        wanted = self.trail[self.number]
        if name == "trace":
            return f"It begins with {wanted[0]} and ends with {wanted[-1]}.", 0.0, False, late, {}
        if name not in self.ANIMALS:
            return "No animal that lives here.", 0.0, False, late, {}
        self.number += 1
        self.right += name == wanted
        word = "Right" if name == wanted else f"Wrong, it was the {wanted}"
        if self.number == 3:
            return f"{word}. {self.right} of three.", self.right / 3, True, False, {}
        return f"{word}. Trace {self.number + 1} is next.", self.right / 10, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{name}}}" for name in self.trail[self.number:])
