# expect: controls
"""The seventh turn indexes past the end of the story."""
import random

STORY = ("A door.", "A stair.", "A hall.", "A well.", "A bridge.", "A tower.")


class StoryEnv:
    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.word = random.Random(seed).choice(["xylem", "quoin", "zephyr", "fjord", "glyph", "nymph"])
        self.turns = 0
        return "You enter a tale. \\boxed{read} goes on; \\boxed{say WORD} ends it.", {}

    def step(self, action):
        scene = STORY[self.turns]
        self.turns += 1
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "say" and words[1] == self.word:
            return "The end.", 1.0, True, False, {}
        return f"{scene} A letter on the wall: {self.word[self.turns % len(self.word)]}.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{read}}\n\\boxed{{say {self.word}}}"
