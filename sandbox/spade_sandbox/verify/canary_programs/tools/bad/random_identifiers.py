# expect: contract
"""New records get an identifier from the system's generator, so no two sessions agree."""
import random
import uuid


class IdentifierEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "add_contact": {"description": "Add a contact; returns its identifier.", "parameters": {"type": "object", "properties": {"name": s}, "required": ["name"]}},
            "star_contact": {"description": "Mark a contact.", "parameters": {"type": "object", "properties": {"identifier": s}, "required": ["identifier"]}},
            "list_contacts": {"description": "All contacts.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        known = uuid.uuid4().hex[:8]
        self.name = rng.choice(["Imani", "Jasper", "Keiko", "Luca"])
        self._state = {"contacts": {known: "Mona"}, "starred": []}
        self.known, name = known, self.name
        self._user_messages = [f"Star Mona's contact {known}.", f"Add {name}."]
        self._message_criteria = [lambda st: st["starred"] == [known], lambda st: name in st["contacts"].values()]
        return self._user_messages[0], {}

    def tool_add_contact(self, name):
        identifier = uuid.uuid4().hex[:8]
        self._state["contacts"][identifier] = str(name)[:40]
        return identifier + self._advance_if_done()

    def tool_star_contact(self, identifier):
        if identifier not in self._state["contacts"]:
            return "No such contact." + self._advance_if_done()
        self._state["starred"].append(identifier)
        return "Starred." + self._advance_if_done()

    def tool_list_contacts(self):
        return str(self._state["contacts"]) + self._advance_if_done()

    def solution(self):
        one = json.dumps({"name": "star_contact", "arguments": {"identifier": self.known}})
        two = json.dumps({"name": "add_contact", "arguments": {"name": self.name}})
        return f"<tool_call>{one}</tool_call>\n<tool_call>{two}</tool_call>\n<answer>done</answer>"
