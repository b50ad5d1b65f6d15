# expect: accepted
"""Two jugs without marks: measure an exact amount by filling, emptying and pouring."""
import random
from collections import deque

ACTIONS = ("fill A", "fill B", "empty A", "empty B", "pour A B", "pour B A")


class JugsEnv:
    def __init__(self, max_turns=16, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        while True:
            self.sizes = tuple(rng.sample(range(5, 20), 2))
            self.goal = rng.randint(1, max(self.sizes) - 1)
            self.amounts = (0, 0)
            path = self._path()
            if path is not None and 5 <= len(path) <= 12:
                break
        self.turns = 0
        return self._view("Measure water."), {}

    def _after(self, amounts, action):
        a, b = amounts
        (big_a, big_b), move = self.sizes, action.split()
        if move[0] == "fill":
            return (big_a, b) if move[1] == "A" else (a, big_b)
        if move[0] == "empty":
            return (0, b) if move[1] == "A" else (a, 0)
        if move[1] == "A":
            poured = min(a, big_b - b)
            return a - poured, b + poured
        poured = min(b, big_a - a)
        return a + poured, b - poured

    def _path(self):
        queue, back = deque([self.amounts]), {self.amounts: ()}
        while queue:
            now = queue.popleft()
            if self.goal in now:
                return back[now]
            for action in ACTIONS:
                then = self._after(now, action)
                if then not in back:
                    back[then] = (*back[now], action)
                    queue.append(then)
        return None

    def _view(self, text):
        (a, b), (c, d) = self.amounts, self.sizes
        return f"{text} Jug A holds {a} of {c}, jug B {b} of {d}; {self.goal} is wanted in one. \\boxed{{fill A}}, \\boxed{{empty A}}, \\boxed{{pour A B}} and so on."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        move = " ".join(action.strip().removeprefix("\\boxed{").removesuffix("}").split())
        if move not in ACTIONS:
            return self._view("Unknown move."), 0.0, False, late, {}
        self.amounts = self._after(self.amounts, move)
        if self.goal in self.amounts:
            return "Exactly.", 1.0, True, False, {}
        return self._view("Splash."), 0.0, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{action}}}" for action in self._path())
