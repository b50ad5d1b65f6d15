# expect: controls
"""Every customer has some discount from the start, and any is enough."""
import random


class DiscountEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "set_discount": {"description": "Set a customer's discount in percent.", "parameters": {"type": "object", "properties": {"customer": s, "percent": {"type": "integer"}}, "required": ["customer", "percent"]}},
            "list_customers": {"description": "Customers.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        names = rng.sample(["Xaver", "Yara", "Zoe", "Willem"], 3)
        self._state = {"discount": {n: rng.randint(1, 9) for n in names}}
        self.name, self.percent = names[0], rng.randint(15, 40)
        name = self.name
        self._user_messages = [f"Give {name} a discount of {self.percent} percent."]
        self._message_criteria = [lambda st: st["discount"][name] > 0]
        return self._user_messages[0], {}

    def tool_set_discount(self, customer, percent):
        if customer not in self._state["discount"] or type(percent) is not int:
            return "Not set." + self._advance_if_done()
        self._state["discount"][customer] = percent
        return "Set." + self._advance_if_done()

    def tool_list_customers(self):
        return ", ".join(self._state["discount"]) + self._advance_if_done()

    def solution(self):
        call = json.dumps({"name": "set_discount", "arguments": {"customer": self.name, "percent": self.percent}})
        return f"<tool_call>{call}</tool_call>\n<answer>done</answer>"
