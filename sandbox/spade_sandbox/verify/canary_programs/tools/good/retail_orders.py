# expect: accepted
"""Retail orders: look up an order, change its address, and refund the right item."""
import random

ITEMS = ("lamp", "kettle", "jacket", "puzzle", "tripod", "blanket")
STREETS = ("Mill Lane", "Oak Road", "High Street", "Station Square", "Harbour View")


class RetailOrdersEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "find_order": {"description": "Items and address of an order.", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}},
            "change_address": {"description": "Set the delivery address of an order.", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}, "address": {"type": "string"}}, "required": ["order_id", "address"]}},
            "refund_item": {"description": "Refund one item of an order.", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}, "item": {"type": "string", "enum": list(ITEMS)}}, "required": ["order_id", "item"]}},
            "list_stores": {"description": "Opening hours of our stores.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        ids = [f"R{n}" for n in rng.sample(range(1000, 9999), 3)]
        self._state = {"orders": {i: {"items": rng.sample(ITEMS, 3), "address": rng.choice(STREETS), "refunded": []} for i in ids}, "read": []}
        self.order, self.new = ids[0], f"{rng.randint(1, 99)} Quay Walk"
        self.item = max(self._state["orders"][self.order]["items"])
        order, new, item = self.order, self.new, self.item
        self._user_messages = [
            f"What is in my order {order}?",
            f"Please send order {order} to {new} instead.",
            "Refund the item of that order that comes last in the alphabet.",
        ]
        self._message_criteria = [
            lambda s: order in s["read"],
            lambda s: s["orders"][order]["address"] == new,
            lambda s: s["orders"][order]["refunded"] == [item],
        ]
        return self._user_messages[0], {}

    def tool_find_order(self, order_id):
        order = self._state["orders"].get(order_id)
        if order is None:
            return "No such order." + self._advance_if_done()
        self._state["read"].append(order_id)
        return f"{order_id}: {', '.join(order['items'])}; to {order['address']}." + self._advance_if_done()

    def tool_change_address(self, order_id, address):
        if order_id not in self._state["orders"] or not isinstance(address, str) or not address:
            return "Not changed." + self._advance_if_done()
        self._state["orders"][order_id]["address"] = address
        return "Address changed." + self._advance_if_done()

    def tool_refund_item(self, order_id, item):
        order = self._state["orders"].get(order_id)
        if order is None or item not in order["items"] or item in order["refunded"]:
            return "Nothing to refund." + self._advance_if_done()
        order["refunded"].append(item)
        return f"{item} refunded." + self._advance_if_done()

    def tool_list_stores(self):
        return "All stores open from 9 to 18." + self._advance_if_done()

    def solution(self):
        calls = [
            ("find_order", {"order_id": self.order}),
            ("change_address", {"order_id": self.order, "address": self.new}),
            ("refund_item", {"order_id": self.order, "item": self.item}),
        ]
        lines = [f"<tool_call>{json.dumps({'name': n, 'arguments': a})}</tool_call>" for n, a in calls]
        return "\n".join([*lines, "<answer>done</answer>"])
