# expect: accepted
"""Data retrieval: the telephone number of somebody's manager's manager."""
import random

NAMES = ("Adebayo", "Brandt", "Castro", "Dvorak", "Eriksen", "Fujita", "Gruber", "Haddad")


class DirectoryEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=8, **kwargs):
        super().__init__(max_turns=max_turns)
        name = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        self._tools = {
            "get_manager": {"description": "Who manages a person.", "parameters": name},
            "get_phone": {"description": "A person's telephone number.", "parameters": name},
            "get_desk": {"description": "Where a person sits.", "parameters": name},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        people = rng.sample(NAMES, len(NAMES))
        self._state = {
            "manager": {a: b for a, b in zip(people, people[1:])},
            "phone": {p: str(rng.randint(20000, 99999)) for p in people},
            "desk": {p: f"{rng.choice('ABC')}{rng.randint(1, 40)}" for p in people},
        }
        self.who = rng.choice(people[:-2])
        self._expected_answer = self._state["phone"][self._boss(self._boss(self.who))]
        return f"What is the telephone number of the manager of {self.who}'s manager?", {}

    def _boss(self, name):
        return self._state["manager"].get(name)

    def tool_get_manager(self, name):
        return self._boss(name) or "nobody"

    def tool_get_phone(self, name):
        return self._state["phone"].get(name, "unknown")

    def tool_get_desk(self, name):
        return self._state["desk"].get(name, "unknown")

    def solution(self):
        boss = self._boss(self.who)
        calls = [("get_manager", self.who), ("get_manager", boss), ("get_phone", self._boss(boss))]
        lines = [f'<tool_call>{{"name": "{tool}", "arguments": {{"name": "{name}"}}}}</tool_call>' for tool, name in calls]
        return "\n".join([*lines, f"<answer>{self._expected_answer}</answer>"])
