# expect: accepted
"""A number machine with four keys must reach the wanted number exactly."""
import random
from collections import deque


class CalculatorEnv:
    KEYS = ("double", "add3", "minus5", "reverse")

    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        while True:
            self.value = rng.randint(10, 99)
            self.goal = rng.randint(100, 900)
            path = self._path()
            if path is not None and len(path) >= 5:
                break
        self.turns = 0
        return self._view("Reach the number."), {}

    @staticmethod
    def _press(value, key):
        if key == "double":
            return value * 2
        if key == "add3":
            return value + 3
        if key == "minus5":
            return value - 5
        return int(str(abs(value))[::-1])

    def _path(self):
        queue, back = deque([self.value]), {self.value: ()}
        while queue and len(back) < 4000:
            now = queue.popleft()
            if now == self.goal:
                return back[now]
            if len(back[now]) >= 9:
                continue
            for key in self.KEYS:
                then = self._press(now, key)
                if -99 <= then <= 1999 and then not in back:
                    back[then] = (*back[now], key)
                    queue.append(then)
        return None

    def _view(self, text):
        return f"{text} The display shows {self.value}; {self.goal} is wanted. Keys: \\boxed{{double}}, \\boxed{{add3}}, \\boxed{{minus5}}, \\boxed{{reverse}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        key = action.strip().removeprefix("\\boxed{").removesuffix("}").strip()
        if key not in self.KEYS:
            return self._view("No such key."), 0.0, False, late, {}
        self.value = max(-999, min(99999, self._press(self.value, key)))
        if self.value == self.goal:
            return "Beep! That is it.", 1.0, True, False, {}
        return self._view("Beep."), 0.0, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{key}}}" for key in self._path() or ())
