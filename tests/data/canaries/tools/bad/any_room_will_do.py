# expect: order
"""A certain room is to be cleaned, but the criterion counts cleaned rooms of any kind."""
import random


class CleaningEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "clean_room": {"description": "Send the cleaners to a room.", "parameters": {"type": "object", "properties": {"room": s}, "required": ["room"]}},
            "list_rooms": {"description": "All rooms.", "parameters": {"type": "object", "properties": {}}},
            "room_state": {"description": "Whether a room is clean.", "parameters": {"type": "object", "properties": {"room": s}, "required": ["room"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        rooms = [str(n) for n in rng.sample(range(100, 999), 4)]
        self._state = {"clean": {r: False for r in rooms}}
        self.room = rooms[3]
        self._user_messages = [f"Have room {self.room} cleaned."]
        self._message_criteria = [lambda st: sum(st["clean"].values()) == 1]
        return self._user_messages[0], {}

    def tool_clean_room(self, room):
        if room not in self._state["clean"]:
            return "No such room." + self._advance_if_done()
        self._state["clean"][room] = True
        return "Cleaned." + self._advance_if_done()

    def tool_list_rooms(self):
        return ", ".join(self._state["clean"]) + self._advance_if_done()

    def tool_room_state(self, room):
        return str(self._state["clean"].get(room, "unknown")) + self._advance_if_done()

    def solution(self):
        return f'<tool_call>{{"name": "clean_room", "arguments": {{"room": "{self.room}"}}}}</tool_call>\n<answer>done</answer>'
