# expect: accepted
"""Feed orders: one exact number of sacks, and one that is only a least."""
import json
import random


class FeedOrdersEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        text = {"type": "string"}
        self._tools = {
            "stock": {"description": "Sacks that a stable has left.", "parameters": {"type": "object", "properties": {"stable": text}, "required": ["stable"]}},
            "order_sacks": {"description": "Order sacks for a stable.", "parameters": {"type": "object", "properties": {"stable": text, "feed": text, "sacks": {"type": "integer"}}, "required": ["stable", "feed", "sacks"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        stables = rng.sample(["Brook", "Copper", "Dell", "Ember", "Fallow"], 3)
        self._state = {"left": {s: rng.randint(1, 30) for s in stables}, "orders": {}}
        first, second = stables[0], stables[1]
        few, many = rng.randint(4, 18), rng.randint(25, 60)
        self.plan = [(first, "oats", few), (second, "hay", many)]
        self._user_messages = [f"Order {few} sacks of oats for {first}.", f"Order at least {many} sacks of hay for {second}."]
        self._message_criteria = [
            lambda s: s["orders"].get((first, "oats"), 0) == few,
            lambda s: s["orders"].get((second, "hay"), 0) >= many,
        ]
        return self._user_messages[0], {}

    def tool_stock(self, stable):
        left = self._state["left"].get(stable) if isinstance(stable, str) else None
        return ("No such stable." if left is None else f"{left} sacks.") + self._advance_if_done()

    def tool_order_sacks(self, stable, feed, sacks):
        if stable not in self._state["left"] or feed not in ("oats", "hay") or type(sacks) is not int or not 0 < sacks < 500:
            return "Not ordered." + self._advance_if_done()
        self._state["orders"][stable, feed] = sacks
        return "Ordered." + self._advance_if_done()

    def solution(self):
        calls = [("order_sacks", {"stable": s, "feed": f, "sacks": n}) for s, f, n in self.plan]
        return "\n".join("<tool_call>" + json.dumps({"name": n, "arguments": a}) + "</tool_call>" for n, a in calls) + "\n<answer>done</answer>"
