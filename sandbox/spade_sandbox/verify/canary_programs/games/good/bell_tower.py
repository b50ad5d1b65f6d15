# expect: accepted
"""Eighteen strokes on four bells; the ringer names the next bell, and a wrong one begins the piece anew."""
import random


class BellTowerEnv:
    BELLS = ("oak", "brass", "silver", "iron")
    STROKES = 18

    def __init__(self, max_turns=25, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.tune = [rng.choice(self.BELLS) for _ in range(self.STROKES)]
        self.struck, self.turns = 0, 0
        return (f"Ring a piece of {self.STROKES} strokes in the right order with \\boxed{{BELL}}: oak, brass, silver or "
                f"iron. After a wrong stroke it begins anew. {self._cue()}"), {}

    def _cue(self):
        following = self.BELLS.index(self.tune[self.struck])
        return f"The ringer holds up {following + 1} fingers; the bells hang as named."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        bell = action.strip().removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if bell not in self.BELLS:
            return f"There is no such bell. {self._cue()}", 0.0, False, late, {}
        if bell != self.tune[self.struck]:
            self.struck = 0
            return f"A wrong stroke. {self._cue()}", 0.0, False, late, {}
        self.struck += 1
        if self.struck == self.STROKES:
            return "The piece is over and everybody claps.", 1.0, True, False, {}
        return f"Stroke {self.struck} rings out. {self._cue()}", self.struck / 60, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{bell}}}" for bell in self.tune[self.struck:])
