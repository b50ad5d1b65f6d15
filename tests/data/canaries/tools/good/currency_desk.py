# expect: accepted
"""Data retrieval with arithmetic: what an amount is worth after two exchanges."""
import random


class CurrencyEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=8, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "rate": {"description": "Units of the second currency for one of the first.", "parameters": {"type": "object", "properties": {"source": {"type": "string"}, "target": {"type": "string"}}, "required": ["source", "target"]}},
            "currencies": {"description": "Known currencies.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        names = rng.sample(["florin", "ducat", "thaler", "guilder", "crown"], 3)
        self._state = {"rates": {(a, b): rng.randint(2, 30) for a in names for b in names if a != b}, "names": sorted(names)}
        self.path = names
        amount = rng.randint(11, 99)
        value = amount * self._state["rates"][names[0], names[1]] * self._state["rates"][names[1], names[2]]
        self._expected_answer = str(value)
        return f"Change {amount} {names[0]}s into {names[1]}s and those into {names[2]}s: how many are there in the end?", {}

    def tool_rate(self, source, target):
        return str(self._state["rates"].get((source, target), "unknown"))

    def tool_currencies(self):
        return ", ".join(self._state["names"])

    def solution(self):
        calls = [{"name": "rate", "arguments": {"source": a, "target": b}} for a, b in zip(self.path, self.path[1:])]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), f"<answer>{self._expected_answer}</answer>"])
