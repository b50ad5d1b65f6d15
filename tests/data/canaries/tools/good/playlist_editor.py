# expect: accepted
"""Music: remove a song, and put another right behind the one named."""
import random


class PlaylistEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "show": {"description": "The playlist in order.", "parameters": {"type": "object", "properties": {}}},
            "remove": {"description": "Remove a song.", "parameters": {"type": "object", "properties": {"song": s}, "required": ["song"]}},
            "insert_after": {"description": "Insert a song after another.", "parameters": {"type": "object", "properties": {"song": s, "after": s}, "required": ["song", "after"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        songs = [f"{a} {b}" for a, b in zip(rng.sample(["Blue", "Red", "Slow", "Late", "Lost"], 5), rng.sample(["River", "Train", "Moon", "Road", "Dance"], 5))]
        self._state = {"songs": songs[:4]}
        self.gone, self.after, self.new = songs[0], songs[2], songs[4]
        one = [x for x in songs[:4] if x != self.gone]
        two = list(one)
        two.insert(two.index(self.after) + 1, self.new)
        self._user_messages = [f"Remove {self.gone}.", f"Add {self.new} right behind {self.after}."]
        self._message_criteria = [lambda st: st["songs"] == one, lambda st: st["songs"] == two]
        return self._user_messages[0], {}

    def tool_show(self):
        return ", ".join(self._state["songs"]) + self._advance_if_done()

    def tool_remove(self, song):
        if song not in self._state["songs"]:
            return "No such song." + self._advance_if_done()
        self._state["songs"].remove(song)
        return "Removed." + self._advance_if_done()

    def tool_insert_after(self, song, after):
        if after not in self._state["songs"] or not isinstance(song, str) or song in self._state["songs"]:
            return "Not possible." + self._advance_if_done()
        self._state["songs"].insert(self._state["songs"].index(after) + 1, song[:60])
        return "Inserted." + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "remove", "arguments": {"song": self.gone}},
            {"name": "insert_after", "arguments": {"song": self.new, "after": self.after}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
