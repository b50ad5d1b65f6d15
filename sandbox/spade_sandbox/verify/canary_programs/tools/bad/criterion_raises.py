# expect: contract
"""The criterion reads an entry that the state does not have."""
import random


class RaisingEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "rent_bike": {"description": "Rent a bike.", "parameters": {"type": "object", "properties": {"bike": {"type": "string"}}, "required": ["bike"]}},
            "list_bikes": {"description": "Free bikes.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        bikes = [f"K{n}" for n in rng.sample(range(100, 999), 3)]
        self._state = {"bikes": bikes, "rented": []}
        self.bike = bikes[1]
        bike = self.bike
        self._user_messages = [f"Rent bike {bike}."]
        self._message_criteria = [lambda st: bike in st["rentals"]]
        return self._user_messages[0], {}

    def tool_rent_bike(self, bike):
        if bike not in self._state["bikes"]:
            return "No such bike." + self._advance_if_done()
        self._state["rented"].append(bike)
        return "Rented." + self._advance_if_done()

    def tool_list_bikes(self):
        return ", ".join(self._state["bikes"]) + self._advance_if_done()

    def solution(self):
        return f'<tool_call>{{"name": "rent_bike", "arguments": {{"bike": "{self.bike}"}}}}</tool_call>\n<answer>done</answer>'
