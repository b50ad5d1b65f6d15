# expect: accepted
"""A word of a list is uncovered letter by letter; six wrong letters lose."""
import random
import string

WORDS = (
    "anchor", "basket", "candle", "desert", "engine", "fabric", "garden", "hammer", "island", "jacket", "kettle",
    "ladder", "magnet", "needle", "orchid", "pebble", "quartz", "ribbon", "saddle", "tunnel", "umpire", "velvet",
    "walnut", "yogurt", "zipper", "bridge", "copper", "dragon", "fossil", "guitar",
)


class HangmanEnv:
    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.word = random.Random(seed).choice(WORDS)
        self.tried = []
        self.turns = 0
        return self._view("A word of six letters is hidden."), {}

    def _view(self, text):
        shown = " ".join(letter if letter in self.tried else "_" for letter in self.word)
        return f"{text} {shown} (tried: {''.join(self.tried) or 'none'}). Guess with \\boxed{{letter}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        letter = action.strip().removeprefix("\\boxed{").removesuffix("}").lower()
        if len(letter) != 1 or letter not in string.ascii_lowercase or letter in self.tried:
            return self._view("One new letter, please."), 0.0, False, late, {}
        self.tried.append(letter)
        wrong = sum(one not in self.word for one in self.tried)
        if set(self.word) <= set(self.tried):
            return f"The word was {self.word}.", 1.0, True, False, {"wrong": wrong}
        if wrong >= 6:
            return "You hang.", 0.0, True, False, {"wrong": wrong}
        hit = letter in self.word
        return self._view("Yes." if hit else "No."), 0.1 if hit else 0.0, False, late, {"wrong": wrong}

    def solution(self):
        left = [letter for letter in dict.fromkeys(self.word) if letter not in self.tried]
        return "\n".join(f"\\boxed{{{letter}}}" for letter in left)
