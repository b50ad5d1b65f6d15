# expect: solution
"""Quantities are kept as texts and compared with numbers."""
import random


class TypesEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "set_quantity": {"description": "Set the quantity of the order.", "parameters": {"type": "object", "properties": {"quantity": {"type": "integer"}}, "required": ["quantity"]}},
            "show_order": {"description": "The order as it is.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        self.quantity = random.Random(seed).randint(2, 400)
        self._state = {"quantity": "1"}
        quantity = self.quantity
        self._user_messages = [f"Set the quantity to {quantity}."]
        self._message_criteria = [lambda st: st["quantity"] == quantity]
        return self._user_messages[0], {}

    def tool_set_quantity(self, quantity):
        self._state["quantity"] = str(quantity)[:12]
        return "Set." + self._advance_if_done()

    def tool_show_order(self):
        return self._state["quantity"] + self._advance_if_done()

    def solution(self):
        return f'<tool_call>{{"name": "set_quantity", "arguments": {{"quantity": {self.quantity}}}}}</tool_call>\n<answer>done</answer>'
