# expect: accepted
"""Warehouse: reorder exactly those parts that fell below their minimum."""
import random


class WarehouseEnv(ToolUseBaseEnv):
    PARTS = ("bolt", "cable", "dowel", "filter", "gasket", "hinge")

    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        part = {"type": "string", "enum": list(self.PARTS)}
        self._tools = {
            "stock_of": {"description": "Stock and minimum of a part.", "parameters": {"type": "object", "properties": {"part": part}, "required": ["part"]}},
            "reorder": {"description": "Order a quantity of a part.", "parameters": {"type": "object", "properties": {"part": part, "quantity": {"type": "integer"}}, "required": ["part", "quantity"]}},
            "cancel_order": {"description": "Cancel the open order of a part.", "parameters": {"type": "object", "properties": {"part": part}, "required": ["part"]}},
            "suppliers": {"description": "Names of suppliers.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        low = rng.sample(self.PARTS, 2)
        self._state = {"stock": {}, "minimum": {}, "orders": {}}
        for part in self.PARTS:
            minimum = rng.randint(20, 90)
            self._state["minimum"][part] = minimum
            self._state["stock"][part] = minimum - rng.randint(1, 15) if part in low else minimum + rng.randint(0, 30)
        self.needed = {p: self._state["minimum"][p] - self._state["stock"][p] for p in self.PARTS if p in low}
        needed = dict(self.needed)
        self._user_messages = ["Order what is missing up to the minimum, for every part that is below it, and nothing else."]
        self._message_criteria = [lambda st: st["orders"] == needed]
        return self._user_messages[0], {}

    def tool_stock_of(self, part):
        if part not in self.PARTS:
            return "Unknown part." + self._advance_if_done()
        return f"{self._state['stock'][part]} in stock, minimum {self._state['minimum'][part]}." + self._advance_if_done()

    def tool_reorder(self, part, quantity):
        if part not in self.PARTS or type(quantity) is not int or quantity < 1 or part in self._state["orders"]:
            return "Not ordered." + self._advance_if_done()
        self._state["orders"][part] = quantity
        return "Ordered." + self._advance_if_done()

    def tool_cancel_order(self, part):
        return ("Nothing to cancel." if self._state["orders"].pop(part, None) is None else "Cancelled.") + self._advance_if_done()

    def tool_suppliers(self):
        return "Hansa, Nordwerk, Ostmetall" + self._advance_if_done()

    def solution(self):
        calls = [{"name": "reorder", "arguments": {"part": p, "quantity": n}} for p, n in self.needed.items()]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
