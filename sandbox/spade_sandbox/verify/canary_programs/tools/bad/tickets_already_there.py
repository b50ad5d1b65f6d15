# expect: controls
"""The first criterion counts tickets, and there are some already."""
import random


class TicketCountEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "open_ticket": {"description": "Open a ticket.", "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}},
            "close_ticket": {"description": "Close a ticket.", "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}},
            "list_agents": {"description": "Names of the agents.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        numbers = rng.sample(range(100, 999), 3)
        self._state = {"open": {n: f"case {n}" for n in numbers}, "closed": []}
        self.title, self.number = f"Broken lock {rng.randint(10, 99)}", numbers[0]
        number = self.number
        self._user_messages = [f"Open a ticket titled {self.title}.", f"Close ticket {number}."]
        self._message_criteria = [lambda s: len(s["open"]) >= 1, lambda s: number in s["closed"]]
        return self._user_messages[0], {}

    def tool_open_ticket(self, title):
        self._state["open"][max(self._state["open"], default=0) + 1] = str(title)[:80]
        return "Opened." + self._advance_if_done()

    def tool_close_ticket(self, number):
        if self._state["open"].pop(number, None) is None:
            return "No such ticket." + self._advance_if_done()
        self._state["closed"].append(number)
        return "Closed." + self._advance_if_done()

    def tool_list_agents(self):
        return "Ravi, Sofia." + self._advance_if_done()

    def solution(self):
        one = json.dumps({"name": "open_ticket", "arguments": {"title": self.title}})
        two = json.dumps({"name": "close_ticket", "arguments": {"number": self.number}})
        return f"<tool_call>{one}</tool_call>\n<tool_call>{two}</tool_call>\n<answer>done</answer>"
