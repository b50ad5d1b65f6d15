# expect: order
"""One order is to be cancelled, but the criterion is content with any."""
import random


class CancelEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "cancel_order": {"description": "Cancel an order.", "parameters": {"type": "object", "properties": {"order_id": s}, "required": ["order_id"]}},
            "list_orders": {"description": "All orders.", "parameters": {"type": "object", "properties": {}}},
            "add_note": {"description": "Write a note on an order.", "parameters": {"type": "object", "properties": {"order_id": s, "note": s}, "required": ["order_id", "note"]}},
            "track_order": {"description": "Where an order is.", "parameters": {"type": "object", "properties": {"order_id": s}, "required": ["order_id"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        ids = [f"W{n}" for n in rng.sample(range(1000, 9999), 4)]
        self._state = {"orders": {i: "sent" for i in ids}, "notes": {}}
        self.order, self.note = ids[2], f"case {rng.randint(10000, 99999)} closed"
        order, note = self.order, self.note
        self._user_messages = [f"Cancel order {order} and only that one.", f"Write on order {order}: {note}"]
        self._message_criteria = [lambda st: "cancelled" in st["orders"].values(), lambda st: st["notes"].get(order) == note]
        return self._user_messages[0], {}

    def tool_cancel_order(self, order_id):
        if order_id not in self._state["orders"]:
            return "No such order." + self._advance_if_done()
        self._state["orders"][order_id] = "cancelled"
        return "Cancelled." + self._advance_if_done()

    def tool_add_note(self, order_id, note):
        if order_id not in self._state["orders"]:
            return "No such order." + self._advance_if_done()
        self._state["notes"][order_id] = str(note)[:80]
        return "Written." + self._advance_if_done()

    def tool_list_orders(self):
        return ", ".join(self._state["orders"]) + self._advance_if_done()

    def tool_track_order(self, order_id):
        return ("On its way." if order_id in self._state["orders"] else "No such order.") + self._advance_if_done()

    def solution(self):
        one = json.dumps({"name": "cancel_order", "arguments": {"order_id": self.order}})
        two = json.dumps({"name": "add_note", "arguments": {"order_id": self.order, "note": self.note}})
        return f"<tool_call>{one}</tool_call>\n<tool_call>{two}</tool_call>\n<answer>done</answer>"
