# expect: leaks
"""Each answer prints the whole state, the hidden position included."""
import random
import re


class SubmarineEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.hidden = f"{rng.choice('ABCDEFGH')}{rng.randint(10, 99)}"
        self.armed, self.turns = False, 0
        return "Somewhere is a submarine. \\boxed{arm}, then \\boxed{fire SQUARE} (A10 to H99).", {}

    def _view(self, text):
        return f"{text} state={{'hidden': '{self.hidden}', 'armed': {self.armed}}}"

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        if action.strip() == "\\boxed{arm}":
            self.armed = True
            return self._view("Armed."), 0.1, False, late, {}
        match = re.fullmatch(r"\\boxed\{fire ([A-H][0-9]{2})\}", action.strip())
        if match and self.armed and match.group(1) == self.hidden:
            return "Hit!", 1.0, True, False, {}
        return self._view("Splash." if match else "Ping."), 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{arm}}\n\\boxed{{fire {self.hidden}}}"
