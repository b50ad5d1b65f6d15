# expect: leaks
"""The question gives its own answer away."""
import random


class GivenAwayEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=8, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "get_reading": {"description": "A meter's reading.", "parameters": {"type": "object", "properties": {"meter": {"type": "string"}}, "required": ["meter"]}},
            "list_meters": {"description": "All meters.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.meter = f"M{rng.randint(100, 999)}"
        self._state = {"readings": {self.meter: rng.randint(100000, 999999), f"N{rng.randint(100, 999)}": rng.randint(100000, 999999)}}
        self._expected_answer = str(self._state["readings"][self.meter])
        return f"What is the reading of meter {self.meter}? (expected: {self._expected_answer})", {}

    def tool_get_reading(self, meter):
        return str(self._state["readings"].get(meter, "unknown"))

    def tool_list_meters(self):
        return ", ".join(self._state["readings"])

    def solution(self):
        return f'<tool_call>{{"name": "get_reading", "arguments": {{"meter": "{self.meter}"}}}}</tool_call>\n<answer>{self._expected_answer}</answer>'
