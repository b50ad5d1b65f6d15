# expect: accepted
"""Telecom: read the usage, and move to the right plan, depending on it."""
import random

PLANS = {"S": 5, "M": 20, "L": 60, "XL": 200}


class TelecomEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "get_usage": {"description": "Gigabytes used last month.", "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}},
            "list_plans": {"description": "Plans and their gigabytes.", "parameters": {"type": "object", "properties": {}}},
            "set_plan": {"description": "Change the plan of a number.", "parameters": {"type": "object", "properties": {"number": {"type": "string"}, "plan": {"type": "string", "enum": list(PLANS)}}, "required": ["number", "plan"]}},
            "block_sim": {"description": "Block a lost SIM card.", "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.number, other = (f"07{n}" for n in rng.sample(range(10**7, 10**8), 2))
        usage = rng.randint(6, 190)
        self._state = {"usage": {self.number: usage, other: rng.randint(1, 190)}, "plan": {self.number: "S", other: "S"}, "asked": [], "blocked": []}
        self.plan = next(name for name, size in PLANS.items() if size >= usage)
        number, plan = self.number, self.plan
        self._user_messages = [
            f"How much data did {number} use?",
            "Give that number the smallest plan that would have been enough.",
        ]
        self._message_criteria = [
            lambda state: number in state["asked"],
            lambda state: state["plan"][number] == plan and state["plan"][other] == "S" and not state["blocked"],
        ]
        return self._user_messages[0], {"numbers": 2}

    def _say(self, text):
        return text + self._advance_if_done()

    def tool_get_usage(self, number):
        if number not in self._state["usage"]:
            return self._say("Unknown number.")
        self._state["asked"].append(number)
        return self._say(f"{self._state['usage'][number]} GB.")

    def tool_list_plans(self):
        return self._say("; ".join(f"{name}: {size} GB" for name, size in PLANS.items()))

    def tool_set_plan(self, number, plan):
        if number not in self._state["plan"] or plan not in PLANS:
            return self._say("Unknown number or plan.")
        self._state["plan"][number] = plan
        return self._say("Plan changed.")

    def tool_block_sim(self, number):
        if number in self._state["usage"]:
            self._state["blocked"].append(number)
            return self._say("Blocked.")
        return self._say("Unknown number.")

    def solution(self):
        one = json.dumps({"name": "get_usage", "arguments": {"number": self.number}})
        two = json.dumps({"name": "set_plan", "arguments": {"number": self.number, "plan": self.plan}})
        return f"<tool_call>{one}</tool_call>\n<tool_call>{two}</tool_call>\n<answer>done</answer>"
