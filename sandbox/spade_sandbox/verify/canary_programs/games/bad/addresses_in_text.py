# expect: contract
"""Cards are named by where they lie in memory, which differs between processes."""
import random


class Card:
    def __init__(self, value):
        self.value = value


class CardsEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.cards = [Card(rng.randint(1, 13)) for _ in range(5)]
        self.high = max(range(5), key=lambda i: (self.cards[i].value, i))
        self.turns = 0
        return f"Five cards: {self.cards}. Find the highest: \\boxed{{look N}}, \\boxed{{take N}}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[1] in tuple("01234"):
            if words[0] == "look":
                return f"A {self.cards[int(words[1])].value}.", 0.05, False, late, {}
            if words[0] == "take":
                right = int(words[1]) == self.high
                return ("Yes." if right else "No."), float(right), True, False, {}
        return "Hm.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{look 0}}\n\\boxed{{take {self.high}}}"
