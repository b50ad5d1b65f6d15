# expect: accepted
"""A ferry with a weight limit brings six crates over in as few trips as the tide allows."""
import random


class FerryEnv:
    LIMIT = 100

    def __init__(self, max_turns=24, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        half = [rng.randint(20, 80) for _ in range(3)]
        weights = half + [self.LIMIT - w for w in half]
        rng.shuffle(weights)
        self.crates = {name: weight for name, weight in zip("uvwxyz", weights)}
        self.board, self.over, self.trips, self.turns = [], [], 3, 0
        return self._view("The tide allows three trips."), {}

    def _view(self, text):
        left = {n: w for n, w in self.crates.items() if n not in self.board and n not in self.over}
        return f"{text} Left: {left}; aboard: {''.join(self.board) or 'nothing'}; trips left: {self.trips}; limit {self.LIMIT}. \\boxed{{load u}}, \\boxed{{sail}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "load" and words[1] in self.crates and words[1] not in self.board + self.over:
            if sum(self.crates[n] for n in self.board) + self.crates[words[1]] > self.LIMIT:
                return self._view("Too heavy."), 0.0, False, late, {}
            self.board.append(words[1])
            return self._view("Loaded."), 0.0, False, late, {}
        if words == ["sail"] and self.board:
            self.over += self.board
            self.board, self.trips = [], self.trips - 1
            if len(self.over) == 6:
                return "All is over the water.", 1.0, True, False, {}
            if self.trips == 0:
                return "The tide is out.", len(self.over) / 12, True, False, {}
            return self._view("There and back."), 0.2, False, late, {}
        return self._view("The ferryman waits."), 0.0, False, late, {}

    def solution(self):
        left = sorted((n for n in self.crates if n not in self.over), key=self.crates.get)
        lines = []
        while left:
            one = left.pop()
            two = next(n for n in left if self.crates[n] == self.LIMIT - self.crates[one])
            left.remove(two)
            lines += [f"load {one}", f"load {two}", "sail"]
        return "\n".join(f"\\boxed{{{line}}}" for line in lines)
