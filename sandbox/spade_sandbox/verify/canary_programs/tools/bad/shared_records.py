# expect: contract
"""The records are made once for the class, so one episode's changes are found in the next."""
import random

RECORDS = {"renewed": []}


class SharedEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "renew_pass": {"description": "Renew a pass.", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
            "list_renewed": {"description": "Passes renewed so far.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        self.name = random.Random(seed).choice(["Rhea", "Soren", "Tariq", "Uma", "Viggo", "Wanda"])
        self._state = RECORDS
        name = self.name
        self._user_messages = [f"Renew the pass of {name}."]
        self._message_criteria = [lambda st: name in st["renewed"]]
        return f"{self._user_messages[0]} {len(RECORDS['renewed'])} were renewed before.", {}

    def tool_renew_pass(self, name):
        self._state["renewed"].append(str(name)[:40])
        return "Renewed." + self._advance_if_done()

    def tool_list_renewed(self):
        return str(len(self._state["renewed"])) + self._advance_if_done()

    def solution(self):
        return f'<tool_call>{{"name": "renew_pass", "arguments": {{"name": "{self.name}"}}}}</tool_call>\n<answer>done</answer>'
