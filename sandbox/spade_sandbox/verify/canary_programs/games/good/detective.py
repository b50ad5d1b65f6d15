# expect: accepted
"""Witnesses are asked about three traits; the culprit is accused once a warrant was requested with the right weapon."""
import random

NAMES = ("Ada", "Ben", "Cora", "Dan", "Eve", "Finn", "Gail", "Hugo")
WEAPONS = ("rope", "candlestick", "poison", "pipe")
PLACES = ("library", "kitchen", "garden", "attic")


class DetectiveEnv:
    def __init__(self, max_turns=14, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.traits = {name: (rng.choice(WEAPONS), rng.choice(PLACES)) for name in NAMES}
        self.culprit = rng.choice(NAMES)
        pairs = [(w, p) for w in WEAPONS for p in PLACES]
        rng.shuffle(pairs)
        self.traits = dict(zip(NAMES, pairs))
        self.warrant = False
        self.turns = 0
        weapon, place = self.traits[self.culprit]
        return (f"It was done with the {weapon} in the {place}. Suspects: {', '.join(NAMES)}. \\boxed{{ask NAME}}, "
                "\\boxed{warrant WEAPON PLACE}, \\boxed{accuse NAME}."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "ask" and words[1] in self.traits:
            weapon, place = self.traits[words[1]]
            return f"{words[1]} was seen in the {place} and owns the {weapon}.", 0.05, False, late, {}
        if len(words) == 3 and words[0] == "warrant":
            self.warrant = tuple(words[1:]) == self.traits[self.culprit]
            return ("The judge signs." if self.warrant else "The judge refuses."), 0.1, False, late, {}
        if len(words) == 2 and words[0] == "accuse" and words[1] in self.traits:
            if not self.warrant:
                return "Without a warrant nobody is arrested.", 0.0, False, late, {}
            right = words[1] == self.culprit
            return ("Case closed." if right else "The wrong one! The case is lost."), float(right), True, False, {}
        return "You mutter to yourself.", 0.0, False, late, {}

    def solution(self):
        weapon, place = self.traits[self.culprit]
        return f"\\boxed{{warrant {weapon} {place}}}\n\\boxed{{accuse {self.culprit}}}"
