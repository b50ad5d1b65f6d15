# expect: order
"""Parcel lockers: a parcel that no locker took counts as stored."""
import json
import random


class ParcelLockersEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        text = {"type": "string"}
        self._tools = {
            "lockers": {"description": "Lockers and whether they are free.", "parameters": {"type": "object", "properties": {}}},
            "store": {"description": "Put a parcel into a locker.", "parameters": {"type": "object", "properties": {"parcel": text, "locker": text}, "required": ["parcel", "locker"]}},
            "notify": {"description": "Tell a person where a parcel is.", "parameters": {"type": "object", "properties": {"person": text, "parcel": text}, "required": ["person", "parcel"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        lockers = [f"L{n}" for n in rng.sample(range(10, 99), 5)]
        free = set(rng.sample(lockers, 2))
        parcel, person = f"X{rng.randint(1000, 9999)}", rng.choice(["Ines", "Jonas", "Kaja", "Levi"])
        self._state = {"free": {n: n in free for n in lockers}, "stored": {}, "tried": [], "told": []}
        self.plan = parcel, person, sorted(free)[0]
        self._user_messages = [f"Put {parcel} into any free locker.", f"Tell {person} about {parcel}."]
        self._message_criteria = [
            lambda s: parcel in s["tried"],
            lambda s: s["told"] == [[person, parcel]],
        ]
        return self._user_messages[0], {}

    def tool_lockers(self):
        return ", ".join(f"{n}: {'free' if f else 'taken'}" for n, f in self._state["free"].items()) + self._advance_if_done()

    def tool_store(self, parcel, locker):
        self._state["tried"].append(parcel)
        if not isinstance(parcel, str) or not isinstance(locker, str) or not self._state["free"].get(locker):
            return "Not stored: the locker cannot be opened." + self._advance_if_done()
        self._state["free"][locker] = False
        self._state["stored"][parcel] = locker
        return "Stored." + self._advance_if_done()

    def tool_notify(self, person, parcel):
        if not isinstance(person, str) or not isinstance(parcel, str):
            return "Nobody was told." + self._advance_if_done()
        self._state["told"].append([person, parcel])
        return "Told." + self._advance_if_done()

    def solution(self):
        parcel, person, locker = self.plan
        calls = [("lockers", {}), ("store", {"parcel": parcel, "locker": locker}), ("notify", {"person": person, "parcel": parcel})]
        return "\n".join("<tool_call>" + json.dumps({"name": n, "arguments": a}) + "</tool_call>" for n, a in calls) + "\n<answer>done</answer>"
