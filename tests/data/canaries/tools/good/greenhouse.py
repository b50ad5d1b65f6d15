# expect: accepted
"""Greenhouse control: read a sensor, branch on it, and refuse what cannot be done."""
import json, random
class GreenhouseEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        bed = {"type": "string", "enum": ["north", "south", "west"]}
        self._tools = {
            "moisture": {"description": "Moisture of a bed in percent.", "parameters": {"type": "object", "properties": {"bed": bed}, "required": ["bed"]}},
            "water": {"description": "Water a bed with litres.", "parameters": {"type": "object", "properties": {"bed": bed, "litres": {"type": "integer"}}, "required": ["bed", "litres"]}},
            "vent": {"description": "Open the vent of a bed by percent.", "parameters": {"type": "object", "properties": {"bed": bed, "percent": {"type": "integer"}}, "required": ["bed", "percent"]}},
            "decline_request": {"description": "Say that a request cannot be served.", "parameters": {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}},
        }
        self.reset()
    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        beds = ["north", "south", "west"]
        wet = dict(zip(beds, rng.sample(range(10, 90), 3)))
        self._state = {"wet": wet, "watered": {}, "vents": {}, "declined": 0}
        driest = min(wet, key=wet.get)
        other = rng.choice([b for b in beds if b != driest])
        litres, percent = rng.randint(3, 30), rng.randint(5, 95)
        self.plan = driest, other, litres, percent
        self._user_messages = [
            f"Give the driest of the three beds {litres} litres of water.",
            f"Open the vent of the {other} bed to {percent} percent.",
            "Please order me a pizza.",
        ]
        self._message_criteria = [
            lambda: self._state["watered"] == {driest: litres},
            lambda: self._state["vents"] == {other: percent},
            lambda: self._state["declined"] == 1,
        ]
        return self._user_messages[0], {}
    def tool_moisture(self, bed):
        got = self._state["wet"].get(bed) if isinstance(bed, str) else None
        return ("No such bed." if got is None else f"{got} percent.") + self._advance_if_done()
    def tool_water(self, bed, litres):
        if bed not in ("north", "south", "west") or type(litres) is not int or not 0 < litres < 100:
            return "Not watered." + self._advance_if_done()
        self._state["watered"][bed] = self._state["watered"].get(bed, 0) + litres
        return "Watered." + self._advance_if_done()
    def tool_vent(self, bed, percent):
        if bed not in ("north", "south", "west") or type(percent) is not int or not 0 <= percent <= 100:
            return "Not moved." + self._advance_if_done()
        self._state["vents"] = {bed: percent}
        return "Moved." + self._advance_if_done()
    def tool_decline_request(self, reason):
        if not isinstance(reason, str) or not reason.strip():
            return "Give a reason." + self._advance_if_done()
        if self._current_msg == 2:
            self._state["declined"] += 1
        return "Declined." + self._advance_if_done()
    def solution(self):
        driest, other, litres, percent = self.plan
        calls = [("moisture", {"bed": b}) for b in ("north", "south", "west")]
        calls += [("water", {"bed": driest, "litres": litres}), ("vent", {"bed": other, "percent": percent}), ("decline_request", {"reason": "I only run the greenhouse."})]
        return "\n".join("<tool_call>" + json.dumps({"name": n, "arguments": a}) + "</tool_call>" for n, a in calls) + "\n<answer>done</answer>"
