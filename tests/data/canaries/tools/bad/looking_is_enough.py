# expect: controls
"""A change of address is asked for, but the criterion only wants that some tool was used twice."""
import random


class LookingEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "change_address": {"description": "Change a member's address.", "parameters": {"type": "object", "properties": {"member": s, "address": s}, "required": ["member", "address"]}},
            "club_news": {"description": "News of the club.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.member, self.address = f"No {rng.randint(100, 999)}", f"{rng.randint(1, 99)} Elm Row"
        self._state = {"address": {self.member: "unknown"}, "calls": 0}
        self._user_messages = [f"Change the address of member {self.member} to {self.address}."]
        self._message_criteria = [lambda st: st["calls"] >= 1]
        return self._user_messages[0], {}

    def tool_change_address(self, member, address):
        self._state["calls"] += 1
        if member in self._state["address"]:
            self._state["address"][member] = str(address)[:60]
            return "Changed." + self._advance_if_done()
        return "Unknown member." + self._advance_if_done()

    def tool_club_news(self):
        self._state["calls"] += 1
        return "The summer party is in June." + self._advance_if_done()

    def solution(self):
        call = json.dumps({"name": "change_address", "arguments": {"member": self.member, "address": self.address}})
        return f"<tool_call>{call}</tool_call>\n<answer>done</answer>"
