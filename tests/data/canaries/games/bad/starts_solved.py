# expect: controls
"""The shuffled sentence is sorted before the player sees it, and the check looks at the sorted one."""
import random


class SentenceEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        words = ["amber", "birds", "cross", "dim", "evening", "fields"]
        self.words = list(words)
        random.Random(seed).shuffle(words)
        self.shown, self.turns = words, 0
        return f"Sort: {' '.join(self.shown)}. \\boxed{{swap I J}} with places 1 to 6.", {}

    def step(self, action):
        self.turns += 1
        said = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(said) == 3 and said[0] == "swap" and all(w in tuple("123456") for w in said[1:]):
            i, j = int(said[1]) - 1, int(said[2]) - 1
            self.shown[i], self.shown[j] = self.shown[j], self.shown[i]
        if self.words == sorted(self.words):
            return "Sorted!", 1.0, True, False, {}
        return " ".join(self.shown), 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        shown, lines = list(self.shown), []
        for place, word in enumerate(sorted(shown)):
            other = shown.index(word)
            if other != place:
                shown[place], shown[other] = shown[other], shown[place]
                lines.append(f"\\boxed{{swap {place + 1} {other + 1}}}")
        return "\n".join(lines)
