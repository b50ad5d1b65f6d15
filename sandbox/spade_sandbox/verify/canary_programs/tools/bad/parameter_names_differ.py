# expect: solution
"""The schema says town, the method wants city, so the tool can never succeed."""
import random


class ParameterEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "reserve_hall": {"description": "Reserve the hall of a town.", "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}},
            "list_halls": {"description": "Towns with a hall.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        self.town = random.Random(seed).choice(["Aalen", "Bruges", "Cadiz", "Dole", "Evora", "Faro"])
        self._state = {"reserved": []}
        town = self.town
        self._user_messages = [f"Reserve the hall in {town}."]
        self._message_criteria = [lambda st: st["reserved"] == [town]]
        return self._user_messages[0], {}

    def tool_reserve_hall(self, city):
        self._state["reserved"].append(str(city)[:40])
        return "Reserved." + self._advance_if_done()

    def tool_list_halls(self):
        return "Aalen, Bruges, Cadiz, Dole, Evora, Faro." + self._advance_if_done()

    def solution(self):
        return f'<tool_call>{{"name": "reserve_hall", "arguments": {{"town": "{self.town}"}}}}</tool_call>\n<answer>done</answer>'
