# expect: accepted
"""Smart home: set the heating by the reading of a sensor, then switch off the light that was left on."""
import random

ROOMS = ("attic", "bath", "cellar", "den", "kitchen")


class SmartHomeEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        room = {"type": "string", "enum": list(ROOMS)}
        self._tools = {
            "read_sensor": {"description": "Temperature of a room.", "parameters": {"type": "object", "properties": {"room": room}, "required": ["room"]}},
            "set_heating": {"description": "Set a room's heating in degrees.", "parameters": {"type": "object", "properties": {"room": room, "degrees": {"type": "integer"}}, "required": ["room", "degrees"]}},
            "light_status": {"description": "Which lights are on.", "parameters": {"type": "object", "properties": {}}},
            "switch_light": {"description": "Switch a light.", "parameters": {"type": "object", "properties": {"room": room, "on": {"type": "boolean"}}, "required": ["room", "on"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self._state = {"sensor": {r: rng.randint(8, 19) for r in ROOMS}, "heating": {}, "lights": {r: False for r in ROOMS}}
        self.room, self.lit = rng.choice(ROOMS), rng.choice(ROOMS)
        self.degrees = self._state["sensor"][self.room] + rng.randint(3, 6)
        self._state["lights"][self.lit] = True
        more = self.degrees - self._state["sensor"][self.room]
        wanted = {self.room: self.degrees}
        self._user_messages = [
            f"Set the heating of the {self.room} to {more} degrees above what its sensor says.",
            "One light was left on. Switch it off.",
        ]
        self._message_criteria = [lambda s: s["heating"] == wanted, lambda s: not any(s["lights"].values())]
        return self._user_messages[0], {}

    def tool_read_sensor(self, room):
        value = self._state["sensor"].get(room)
        return ("No such room." if value is None else f"{value} degrees.") + self._advance_if_done()

    def tool_set_heating(self, room, degrees):
        if room not in ROOMS or type(degrees) is not int or not 5 <= degrees <= 30:
            return "Refused." + self._advance_if_done()
        self._state["heating"][room] = degrees
        return "Set." + self._advance_if_done()

    def tool_light_status(self):
        return ", ".join(r for r in ROOMS if self._state["lights"][r]) + " on" + self._advance_if_done()

    def tool_switch_light(self, room, on):
        if room not in ROOMS or type(on) is not bool:
            return "Refused." + self._advance_if_done()
        self._state["lights"][room] = on
        return "Switched." + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "read_sensor", "arguments": {"room": self.room}},
            {"name": "set_heating", "arguments": {"room": self.room, "degrees": self.degrees}},
            {"name": "switch_light", "arguments": {"room": self.lit, "on": False}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
