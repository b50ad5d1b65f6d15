# expect: accepted
"""A safe with three numbers; turning past a right one clicks, and the numbers must be entered in order."""
import random
from dataclasses import dataclass, field


@dataclass
class Safe:
    numbers: list
    entered: list = field(default_factory=list)

    def enter(self, number):
        self.entered.append(number)
        if self.entered != self.numbers[: len(self.entered)]:
            self.entered.clear()
            return False
        return True

    @property
    def open(self):
        return self.entered == self.numbers


class SafeDialEnv:
    def __init__(self, max_turns=25, **kwargs):
        self.max_turns = max_turns
        self.safe = Safe([0, 0, 0])
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.safe = Safe(rng.sample(range(40), 3))
        self.turns = 0
        return "A safe with a dial from 0 to 39 and a number of three steps. \\boxed{listen A B} tells of clicks between A and B; \\boxed{dial N} enters.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        numbers = [int(word) for word in words[1:] if word in {str(n) for n in range(40)}]
        wanted = self.safe.numbers[len(self.safe.entered)]
        if len(words) == 3 and words[0] == "listen" and len(numbers) == 2:
            click = min(numbers) <= wanted <= max(numbers)
            return ("A click." if click else "Silence."), 0.05, False, late, {}
        if len(words) == 2 and words[0] == "dial" and len(numbers) == 1:
            right = self.safe.enter(numbers[0])
            if self.safe.open:
                return "The door swings open.", 1.0, True, False, {}
            return ("The bolt moves." if right else "The bolts fall back."), 0.3 if right else 0.0, False, late, {}
        return "The safe is unimpressed.", 0.0, False, late, {}

    def solution(self):
        left = self.safe.numbers[len(self.safe.entered):]
        return "\n".join(f"\\boxed{{dial {number}}}" for number in left)
