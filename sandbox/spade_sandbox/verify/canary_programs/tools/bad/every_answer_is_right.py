# expect: controls
"""The check compares the expected answer with itself."""
import random


class SelfCheckEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=8, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "population": {"description": "Inhabitants of a town.", "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}},
            "towns": {"description": "All towns.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self._state = {"people": {t: rng.randint(900, 90000) for t in ("Ardal", "Brevik", "Corvo", "Dunmore")}}
        self.town = rng.choice(sorted(self._state["people"]))
        self._expected_answer = str(self._state["people"][self.town])
        return f"How many people live in {self.town}?", {}

    def _check_answer(self, answer):
        answer = self._expected_answer
        return answer == self._expected_answer

    def tool_population(self, town):
        return str(self._state["people"].get(town, "unknown"))

    def tool_towns(self):
        return ", ".join(self._state["people"])

    def solution(self):
        return f'<tool_call>{{"name": "population", "arguments": {{"town": "{self.town}"}}}}</tool_call>\n<answer>{self._expected_answer}</answer>'
