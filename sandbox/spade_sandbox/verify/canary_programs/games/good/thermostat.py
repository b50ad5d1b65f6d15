# expect: accepted
"""A room must be held between two temperatures for three readings while the weather changes."""
import random
import re


class ThermostatEnv:
    def __init__(self, max_turns=16, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.weather = [rng.randint(-9, 9) for _ in range(40)]
        self.temperature = rng.choice([5, 8, 32, 35])
        self.low = rng.randint(15, 24)
        self.kept, self.turns = 0, 0
        return self._view("The greenhouse opens."), {}

    def _view(self, text):
        return (f"{text} It is {self.temperature} degrees; {self.low} to {self.low + 2} are wanted, three readings running. "
                f"The forecast is {self.weather[self.turns]:+d}. \\boxed{{heat N}} with N from -40 to 40.")

    def step(self, action):
        match = re.fullmatch(r"\\boxed\{heat (-?[0-9]{1,2})\}", action.strip())
        power = max(-40, min(40, int(match.group(1)))) if match else 0
        self.temperature += power + self.weather[self.turns]
        self.turns += 1
        late = self.turns >= min(self.max_turns, 39)
        within = self.low <= self.temperature <= self.low + 2
        self.kept = self.kept + 1 if within and match else 0
        if self.kept == 3:
            return "The orchids bloom.", 1.0, True, False, {}
        return self._view("The fan turns."), 0.2 * self.kept, False, late, {}

    def solution(self):
        lines, now = [], self.temperature
        for turn in range(self.turns, self.turns + 3 - self.kept):
            power = self.low + 1 - now - self.weather[turn]
            lines.append(f"\\boxed{{heat {power}}}")
            now = self.low + 1
        return "\n".join(lines)
