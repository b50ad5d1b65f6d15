# expect: order
"""Nothing depends on the seed: one recorded answer does for every episode."""


class ConstantEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "promote": {"description": "Promote a member.", "parameters": {"type": "object", "properties": {"member": s}, "required": ["member"]}},
            "points_of": {"description": "Points of a member.", "parameters": {"type": "object", "properties": {"member": s}, "required": ["member"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        self._state = {"points": {"Noor": 310, "Otis": 275, "Pia": 402, "Quin": 120}, "promoted": []}
        self._user_messages = ["Promote the member with the most points, out of Noor, Otis, Pia and Quin."]
        self._message_criteria = [lambda st: st["promoted"] == ["Pia"]]
        return self._user_messages[0], {}

    def tool_promote(self, member):
        if member not in self._state["points"]:
            return "No such member." + self._advance_if_done()
        self._state["promoted"].append(member)
        return "Promoted." + self._advance_if_done()

    def tool_points_of(self, member):
        return str(self._state["points"].get(member, "unknown")) + self._advance_if_done()

    def solution(self):
        return '<tool_call>{"name": "promote", "arguments": {"member": "Pia"}}</tool_call>\n<answer>done</answer>'
