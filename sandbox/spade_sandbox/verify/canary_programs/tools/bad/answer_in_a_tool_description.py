# expect: leaks
"""Orchard: what is asked for stands in the description of a tool."""
import json
import random


class OrchardCountEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "rows": {"description": "Rows of the orchard.", "parameters": {"type": "object", "properties": {}}},
            "harvest": {"description": "Kilograms that a row gave.", "parameters": {"type": "object", "properties": {"row": {"type": "string"}}, "required": ["row"]}},
            "frost": {"description": "Nights of frost in a row.", "parameters": {"type": "object", "properties": {"row": {"type": "string"}}, "required": ["row"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        rows = [f"R{n}" for n in rng.sample(range(10, 99), 4)]
        self._state = {"kilograms": {r: n for r, n in zip(rows, rng.sample(range(120, 999), 4))}, "frost": {r: rng.randint(0, 9) for r in rows}}
        kilograms = self._state["kilograms"]
        self._expected_answer = str(sum(kilograms.values()))
        self._tools["harvest"]["description"] = f"Kilograms that a row gave, of {self._expected_answer} in all."
        return "How many kilograms did all rows give together?", {}

    def tool_rows(self):
        return ", ".join(self._state["kilograms"])

    def tool_harvest(self, row):
        kilograms = self._state["kilograms"].get(row) if isinstance(row, str) else None
        return "No such row." if kilograms is None else f"{kilograms} kg"

    def tool_frost(self, row):
        nights = self._state["frost"].get(row) if isinstance(row, str) else None
        return "No such row." if nights is None else f"{nights} nights"

    def solution(self):
        lines = ['<tool_call>{"name": "rows", "arguments": {}}</tool_call>']
        lines += ["<tool_call>" + json.dumps({"name": "harvest", "arguments": {"row": r}}) + "</tool_call>" for r in self._state["kilograms"]]
        return "\n".join(lines) + f"\n<answer>{self._expected_answer}</answer>"
