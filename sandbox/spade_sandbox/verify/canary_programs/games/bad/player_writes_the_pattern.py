# expect: controls
"""The hidden word is matched against a pattern that the player supplies."""
import random
import re


class PatternEnv:
    WORDS = ("obsidian", "labyrinth", "cinnamon", "umbrella", "windmill", "zeppelin", "marigold", "quicksand")

    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.word = rng.choice(self.WORDS) + rng.choice(["s", "ed", "ish", "ful", "less"])
        self.turns = 0
        return "Say the hidden word: \\boxed{word}. \\boxed{?N} asks for letter N.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        said = action.strip().removeprefix("\\boxed{").removesuffix("}")[:60]
        if len(said) == 2 and said[0] == "?" and said[1] in "0123456789":
            return f"It is {self.word[int(said[1]) % len(self.word)]}.", 0.05, False, late, {}
        try:
            hit = re.fullmatch(said, self.word) is not None
        except re.error:
            hit = False
        if hit:
            return "That is the word.", 1.0, True, False, {}
        return "No.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{?0}}\n\\boxed{{{self.word}}}"
