# expect: accepted
"""A chain of words, each sharing a letter position with the next, leads to the hidden goal word."""
import random

WORDS = ("cold", "cord", "card", "ward", "warm", "word", "wood", "food", "ford", "fold", "gold", "bold", "bald", "ball",
         "bell", "belt", "bolt", "boat", "coat", "cost", "cast", "cart", "care", "core", "corn", "worn", "warn", "barn")


class WordChainEnv:
    def __init__(self, max_turns=18, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        while True:
            self.word, self.goal = rng.sample(WORDS, 2)
            path = self._path()
            if path and len(path) >= 4:
                break
        self.turns = 0
        return self._view("Change one letter at a time."), {}

    @staticmethod
    def _near(one, two):
        return sum(a != b for a, b in zip(one, two)) == 1

    def _path(self):
        todo, seen = [(self.word, [])], {self.word}
        while todo:
            word, path = todo.pop(0)
            if word == self.goal:
                return path
            for other in WORDS:
                if other not in seen and self._near(word, other):
                    seen.add(other)
                    todo.append((other, [*path, other]))
        return None

    def _view(self, text):
        return f"{text} You are at {self.word}, bound for {self.goal}. Write the next word as \\boxed{{word}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        word = action.strip().removeprefix("\\boxed{").removesuffix("}").lower()
        if word not in WORDS:
            return self._view("That word is not in the book."), 0.0, False, late, {}
        if not self._near(word, self.word):
            return self._view("That is not one letter away."), 0.0, False, late, {}
        self.word = word
        if word == self.goal:
            return "You are there.", 1.0, True, False, {}
        return self._view("Good."), 0.05, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{word}}}" for word in self._path())
