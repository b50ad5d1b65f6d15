# expect: accepted
"""A beam crosses a board of 4 x 4; mirrors are turned until it leaves at the wanted side."""
import random


class MirrorEnv:
    def __init__(self, max_turns=16, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turns = 0
        while True:
            start = [[rng.choice("../\\") for _ in range(4)] for _ in range(4)]
            self.plan = rng.sample([(row, column) for row in range(4) for column in range(4)], 3)
            self.board = [row[:] for row in start]
            exits = []
            for row, column in self.plan:
                exits.append(self._exit())
                self._turn(row, column)
            self.goal, self.board = self._exit(), start
            if self.goal not in (*exits, "nowhere"):
                break
        return self._view("Light falls in from the left of row 1."), {}

    @staticmethod
    def _next(mark):
        return {".": "/", "/": "\\", "\\": "."}[mark]

    def _turn(self, row, column):
        self.board[row][column] = self._next(self.board[row][column])

    def _exit(self):
        row, column, down, right = 0, 0, 0, 1
        for _ in range(64):
            if not (0 <= row < 4 and 0 <= column < 4):
                side = "top" if row < 0 else "bottom" if row > 3 else "left" if column < 0 else "right"
                return f"{side} {(column if side in ('top', 'bottom') else row) + 1}"
            mark = self.board[row][column]
            if mark == "/":
                down, right = -right, -down
            elif mark == "\\":
                down, right = right, down
            row, column = row + down, column + right
        return "nowhere"

    def _view(self, text):
        rows = " | ".join("".join(row) for row in self.board)
        return f"{text} Board: {rows}. It leaves at {self._exit()}; wanted: {self.goal}. \\boxed{{turn ROW COLUMN}}, then \\boxed{{lock}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 3 and words[0] == "turn" and all(w in tuple("1234") for w in words[1:]):
            place = (int(words[1]) - 1, int(words[2]) - 1)
            self._turn(*place)
            return self._view("Click."), 0.0, False, late, {}
        if words == ["lock"]:
            right = self._exit() == self.goal
            return ("It shines." if right else "The board is locked, and dark."), float(right), True, False, {}
        return self._view("Hm."), 0.0, False, late, {}

    def solution(self):
        return "\n".join([*(f"\\boxed{{turn {row + 1} {column + 1}}}" for row, column in self.plan), "\\boxed{lock}"])
