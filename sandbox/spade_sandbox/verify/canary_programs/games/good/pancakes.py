# expect: accepted
"""A pile of six pancakes is sorted by flips of its top; the order is shown, the number of flips is bounded."""
import random


class PancakeEnv:
    def __init__(self, max_turns=14, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.pile = [1, 2, 3, 4, 5, 6]
        while self._plan(self.pile) == [] or len(self._plan(self.pile)) < 4:
            rng.shuffle(self.pile)
        self.turns = 0
        return self._view("Sort the pile, smallest on top."), {}

    @staticmethod
    def _plan(pile):
        pile, flips = list(pile), []
        for size in range(6, 1, -1):
            place = pile.index(size) + 1
            if place == size:
                continue
            if place > 1:
                flips.append(place)
                pile[:place] = reversed(pile[:place])
            flips.append(size)
            pile[:size] = reversed(pile[:size])
        return flips

    def _view(self, text):
        return f"{text} From the top: {' '.join(map(str, self.pile))}. Flip the top N with \\boxed{{flip N}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) != 2 or words[0] != "flip" or words[1] not in {"2", "3", "4", "5", "6"}:
            return self._view("Flip 2 to 6 pancakes."), 0.0, False, late, {}
        count = int(words[1])
        self.pile[:count] = reversed(self.pile[:count])
        if self.pile == sorted(self.pile):
            return "Sorted.", 1.0, True, False, {}
        return self._view("Flap."), 0.0, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{flip {count}}}" for count in self._plan(self.pile))
