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
            "set_door_code": {"description": "Set the door code of a room.", "parameters": {"type": "object", "properties": {"room": s, "code": {"type": "integer"}}, "required": ["room", "code"]}},
            "room_state": {"description": "Whether a room is clean.", "parameters": {"type": "object", "properties": {"room": s}, "required": ["room"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        rooms = [str(n) for n in rng.sample(range(100, 999), 4)]
        self._state = {"clean": {r: False for r in rooms}, "code": {r: 0 for r in rooms}}
        self.room, self.code = rooms[3], rng.randint(10000, 99999)
        room, code = self.room, self.code
        self._user_messages = [f"Have room {room} cleaned.", f"Set the door code of room {room} to {code}."]
        self._message_criteria = [lambda st: sum(st["clean"].values()) == 1, lambda st: st["code"][room] == code]
        return self._user_messages[0], {}

    def tool_clean_room(self, room):
        if room not in self._state["clean"]:
            return "No such room." + self._advance_if_done()
        self._state["clean"][room] = True
        return "Cleaned." + self._advance_if_done()

    def tool_list_rooms(self):
        return ", ".join(self._state["clean"]) + self._advance_if_done()

    def tool_set_door_code(self, room, code):
        if room not in self._state["code"] or type(code) is not int:
            return "Not set." + self._advance_if_done()
        self._state["code"][room] = code
        return "Set." + self._advance_if_done()

    def tool_room_state(self, room):
        return str(self._state["clean"].get(room, "unknown")) + self._advance_if_done()

    def solution(self):
        one = json.dumps({"name": "clean_room", "arguments": {"room": self.room}})
        two = json.dumps({"name": "set_door_code", "arguments": {"room": self.room, "code": self.code}})
        return f"<tool_call>{one}</tool_call>\n<tool_call>{two}</tool_call>\n<answer>done</answer>"
