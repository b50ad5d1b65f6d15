# expect: accepted
"""An enciphering machine may be tried on letters; then the hidden message must be deciphered."""
import random
import re

NOUNS = ("harbour", "lantern", "meadow", "thunder", "crystal", "journey", "whisper", "captain", "mosaic", "velcro")
VERBS = ("guards", "follows", "forgets", "repairs", "admires", "ignores")


class CaesarEnv:
    def __init__(self, max_turns=10, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.shift = rng.randint(3, 22)
        one, two = rng.sample(NOUNS, 2)
        self.plain = f"{one} {rng.choice(VERBS)} {two}"
        self.turns = 0
        return f"Intercepted: {self._encipher(self.plain)}. \\boxed{{try LETTER}} runs the machine; answer with \\boxed{{read TEXT}}.", {}

    def _encipher(self, text):
        return "".join(chr((ord(c) - 97 + self.shift) % 26 + 97) if c != " " else c for c in text)

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        match = re.fullmatch(r"\\boxed\{(try|read) ([a-z ]{1,60})\}", action.strip())
        if match is None:
            return "The machine hums.", 0.0, False, late, {}
        verb, text = match.groups()
        if verb == "try":
            return f"It prints {self._encipher(text[0]) if text[0] != ' ' else 'nothing'}.", 0.1, False, late, {}
        if text == self.plain:
            return "The staff applauds.", 1.0, True, False, {}
        right = sum(a == b for a, b in zip(text, self.plain)) / max(len(text), len(self.plain))
        return "That makes no sense.", round(0.3 * right, 3), False, late, {}

    def solution(self):
        return f"\\boxed{{try a}}\n\\boxed{{read {self.plain}}}"
