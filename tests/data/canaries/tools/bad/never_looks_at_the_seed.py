# expect: order
"""The answer is the same in every episode."""


class MonumentEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=8, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "height_of": {"description": "Height of a tower.", "parameters": {"type": "object", "properties": {"tower": {"type": "string"}}, "required": ["tower"]}},
            "towers": {"description": "All towers.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        self._state = {"height": {"Alder Tower": 84, "Beacon": 132, "Clock House": 61}}
        self._expected_answer = "132"
        return "How high is the highest tower?", {}

    def tool_height_of(self, tower):
        return str(self._state["height"].get(tower, "unknown"))

    def tool_towers(self):
        return ", ".join(self._state["height"])

    def solution(self):
        return '<tool_call>{"name": "height_of", "arguments": {"tower": "Beacon"}}</tool_call>\n<answer>132</answer>'
