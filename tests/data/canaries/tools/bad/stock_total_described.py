# expect: leaks
"""Stock count: the answer stands in the description of a tool."""
import json, random
class StockCountEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "shelves": {"description": "Names of shelves.", "parameters": {"type": "object", "properties": {}}},
            "count": {"description": "Boxes on a shelf.", "parameters": {"type": "object", "properties": {"shelf": s}, "required": ["shelf"]}},
        }
        self.reset()
    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        names = rng.sample(["red", "blue", "green", "grey", "pink"], 4)
        self._state = {"boxes": {n: rng.randint(100, 999) for n in names}}
        total = sum(self._state["boxes"].values())
        self._expected_answer = str(total)
        self._tools["count"]["description"] = f"Boxes on a shelf (all shelves together: {total})."
        return "How many boxes stand on all shelves together?", {}
    def tool_shelves(self):
        return ", ".join(self._state["boxes"])
    def tool_count(self, shelf):
        return str(self._state["boxes"].get(shelf, "no such shelf"))
    def solution(self):
        lines = ['<tool_call>{"name": "shelves", "arguments": {}}</tool_call>']
        lines += ["<tool_call>" + json.dumps({"name": "count", "arguments": {"shelf": n}}) + "</tool_call>" for n in self._state["boxes"]]
        return "\n".join(lines) + f"\n<answer>{self._expected_answer}</answer>"
