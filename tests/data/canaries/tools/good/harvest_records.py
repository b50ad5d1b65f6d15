# expect: accepted
"""Data retrieval: the field with the best yield per hectare."""
import random


class HarvestEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        field = {"type": "object", "properties": {"field": {"type": "string"}}, "required": ["field"]}
        self._tools = {
            "fields": {"description": "Names of the fields.", "parameters": {"type": "object", "properties": {}}},
            "hectares": {"description": "Size of a field.", "parameters": field},
            "tons": {"description": "Harvest of a field.", "parameters": field},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        names = [f"{w}-{n}" for w, n in zip(["Acre", "Bottom", "Croft", "Dale"], rng.sample(range(10, 99), 4))]
        sizes = {n: rng.randint(2, 20) for n in names}
        yields = dict(zip(names, rng.sample(range(3, 40), 4)))
        self._state = {"size": sizes, "tons": {n: sizes[n] * yields[n] for n in names}}
        self._expected_answer = max(names, key=yields.get)
        return "Which field has the best harvest per hectare? Answer with its name.", {}

    def tool_fields(self):
        return ", ".join(self._state["size"])

    def tool_hectares(self, field):
        return str(self._state["size"].get(field, "unknown"))

    def tool_tons(self, field):
        return str(self._state["tons"].get(field, "unknown"))

    def solution(self):
        lines = [f'<tool_call>{{"name": "{t}", "arguments": {{"field": "{n}"}}}}</tool_call>' for n in self._state["size"] for t in ("hectares", "tons")]
        return "\n".join([*lines, f"<answer>{self._expected_answer}</answer>"])
