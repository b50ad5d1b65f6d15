# expect: contract
"""The criterion divides by the number of deliveries, of which there are none."""
import random


class DivisionEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "deliver": {"description": "Deliver a parcel.", "parameters": {"type": "object", "properties": {"parcel": {"type": "string"}}, "required": ["parcel"]}},
            "parcels": {"description": "Parcels in the van.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.parcel = f"Q{rng.randint(100, 999)}"
        self._state = {"van": [self.parcel], "delivered": [], "right": 0}
        self._user_messages = [f"Deliver {self.parcel}."]
        self._message_criteria = [lambda st: st["right"] / len(st["delivered"]) == 1]
        return self._user_messages[0], {}

    def tool_deliver(self, parcel):
        if parcel not in self._state["van"]:
            return "Not in the van."
        self._state["van"].remove(parcel)
        self._state["delivered"].append(parcel)
        self._state["right"] += 1
        return "Delivered." + self._advance_if_done()

    def tool_parcels(self):
        return ", ".join(self._state["van"]) or "none"

    def solution(self):
        return f'<tool_call>{{"name": "deliver", "arguments": {{"parcel": "{self.parcel}"}}}}</tool_call>\n<answer>done</answer>'
