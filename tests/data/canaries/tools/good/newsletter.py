# expect: accepted
"""A newsletter: unsubscribe one reader, change the language of another."""
import random


class NewsletterEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "unsubscribe": {"description": "Remove a reader.", "parameters": {"type": "object", "properties": {"address": s}, "required": ["address"]}},
            "set_language": {"description": "Set a reader's language.", "parameters": {"type": "object", "properties": {"address": s, "language": {"type": "string", "enum": ["en", "fr", "de"]}}, "required": ["address", "language"]}},
            "count_readers": {"description": "How many readers there are.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        people = [f"{n}{rng.randint(10, 99)}@example.org" for n in rng.sample(["ana", "bob", "cyd", "dov", "eli"], 4)]
        self._state = {"language": {p: "en" for p in people}}
        self.out, self.change = people[0], people[1]
        self.language = rng.choice(["fr", "de"])
        first = {p: "en" for p in people[1:]}
        second = {**first, self.change: self.language}
        self._user_messages = [f"Take {self.out} off the list.", f"Send {self.change} the {self.language} edition from now on."]
        self._message_criteria = [lambda st: st["language"] == first, lambda st: st["language"] == second]
        return self._user_messages[0], {}

    def tool_unsubscribe(self, address):
        known = self._state["language"].pop(address, None)
        return ("Unknown reader." if known is None else "Removed.") + self._advance_if_done()

    def tool_set_language(self, address, language):
        if address not in self._state["language"] or language not in ("en", "fr", "de"):
            return "Not changed." + self._advance_if_done()
        self._state["language"][address] = language
        return "Changed." + self._advance_if_done()

    def tool_count_readers(self):
        return str(len(self._state["language"])) + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "unsubscribe", "arguments": {"address": self.out}},
            {"name": "set_language", "arguments": {"address": self.change, "language": self.language}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
