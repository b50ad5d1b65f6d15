# expect: controls
"""A step counts as done as soon as any tool was called, whichever it was."""
import random


class AnyCallEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "pay_bill": {"description": "Pay a bill.", "parameters": {"type": "object", "properties": {"bill": s}, "required": ["bill"]}},
            "dispute_bill": {"description": "Dispute a bill.", "parameters": {"type": "object", "properties": {"bill": s}, "required": ["bill"]}},
            "office_hours": {"description": "When the office is open.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.bill, other = (f"B{n}" for n in rng.sample(range(1000, 9999), 2))
        self._state = {"bills": {self.bill: "open", other: "open"}}
        self._user_messages = [f"Pay bill {self.bill}."]
        self._message_criteria = [lambda: len(self._call_history) > 0]
        return self._user_messages[0], {}

    def _set(self, bill, word):
        if bill not in self._state["bills"]:
            return "No such bill." + self._advance_if_done()
        self._state["bills"][bill] = word
        return f"{bill} is {word}." + self._advance_if_done()

    def tool_pay_bill(self, bill):
        return self._set(bill, "paid")

    def tool_dispute_bill(self, bill):
        return self._set(bill, "disputed")

    def tool_office_hours(self):
        return "8 to 16." + self._advance_if_done()

    def solution(self):
        return f'<tool_call>{{"name": "pay_bill", "arguments": {{"bill": "{self.bill}"}}}}</tool_call>\n<answer>done</answer>'
