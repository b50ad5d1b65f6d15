# expect: accepted
"""Nim with one heap against an opponent that follows a fixed rule; who takes the last match wins."""
import random


class NimEnv:
    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.heap = rng.randint(21, 60)
        self.habit = [rng.randint(1, 4) for _ in range(40)]
        self.round, self.turns = 0, 0
        if self._line() is None:
            self.heap += 1
        return self._view("Who takes the last match wins."), {}

    def _view(self, text):
        return f"{text} {self.heap} matches lie there. Take 1 to 4 with \\boxed{{number}}."

    def _line(self):
        """A winning line against the habit, or None."""
        known = {}

        def win(heap, turn):
            if turn - self.round > 30:
                return None
            if (heap, turn) not in known:
                known[heap, turn] = None
                for take in (4, 3, 2, 1):
                    if take == heap:
                        known[heap, turn] = (take,)
                        break
                    left = heap - take
                    if left <= 0:
                        continue
                    reply = min(self.habit[turn % 40], left)
                    if left - reply == 0:
                        continue
                    rest = win(left - reply, turn + 1)
                    if rest:
                        known[heap, turn] = (take, *rest)
                        break
            return known[heap, turn]

        return win(self.heap, self.round)

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        word = action.strip().removeprefix("\\boxed{").removesuffix("}").strip()
        if word not in ("1", "2", "3", "4") or int(word) > self.heap:
            return self._view("Not allowed."), 0.0, False, late, {}
        self.heap -= int(word)
        if self.heap == 0:
            return "The last match is yours.", 1.0, True, False, {}
        reply = min(self.habit[self.round % 40], self.heap)
        self.round += 1
        self.heap -= reply
        if self.heap == 0:
            return f"I take {reply}, the last one.", 0.0, True, False, {}
        return self._view(f"I take {reply}."), 0.0, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{take}}}" for take in self._line() or ())
