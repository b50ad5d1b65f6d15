# expect: accepted
"""Calendar: find a free hour, create a meeting, and invite the one who must be there."""
import random

PEOPLE = ("Amara", "Bela", "Chidi", "Dora", "Emil")


class CalendarEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "free_hours": {"description": "Free hours of a day.", "parameters": {"type": "object", "properties": {"day": {"type": "string", "enum": ["Mon", "Tue", "Wed"]}}, "required": ["day"]}},
            "create_meeting": {"description": "Create a meeting.", "parameters": {"type": "object", "properties": {"day": s, "hour": {"type": "integer"}, "title": s}, "required": ["day", "hour", "title"]}},
            "invite": {"description": "Invite a person to a meeting.", "parameters": {"type": "object", "properties": {"title": s, "person": s}, "required": ["title", "person"]}},
            "set_reminder": {"description": "Set a private reminder.", "parameters": {"type": "object", "properties": {"text": s}, "required": ["text"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.day = rng.choice(["Mon", "Tue", "Wed"])
        self._state = {"free": {d: sorted(rng.sample(range(8, 18), 4)) for d in ("Mon", "Tue", "Wed")}, "meetings": {}, "reminders": []}
        self.title = f"{rng.choice(['Budget', 'Roadmap', 'Review', 'Kickoff'])} {rng.randint(10, 99)}"
        self.person = rng.choice(PEOPLE)
        self.hour = self._state["free"][self.day][-1]
        place = {"day": self.day, "hour": self.hour}
        title, person = self.title, self.person
        self._user_messages = [
            f"Put a meeting called {title} into the last free hour of {self.day}.",
            f"Invite {person} to it.",
        ]
        self._message_criteria = [
            lambda st: title in st["meetings"] and {k: st["meetings"][title][k] for k in ("day", "hour")} == place,
            lambda st: title in st["meetings"] and st["meetings"][title]["people"] == [person],
        ]
        return self._user_messages[0], {}

    def tool_free_hours(self, day):
        hours = self._state["free"].get(day)
        return (f"{day}: {hours}" if hours else "No such day.") + self._advance_if_done()

    def tool_create_meeting(self, day, hour, title):
        if hour not in self._state["free"].get(day, []) or title in self._state["meetings"]:
            return "Not free, or the title is taken." + self._advance_if_done()
        self._state["free"][day].remove(hour)
        self._state["meetings"][title] = {"day": day, "hour": hour, "people": []}
        return "Created." + self._advance_if_done()

    def tool_invite(self, title, person):
        if title not in self._state["meetings"] or person not in PEOPLE:
            return "No such meeting or person." + self._advance_if_done()
        self._state["meetings"][title]["people"].append(person)
        return "Invited." + self._advance_if_done()

    def tool_set_reminder(self, text):
        self._state["reminders"].append(str(text)[:100])
        return "Noted." + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "free_hours", "arguments": {"day": self.day}},
            {"name": "create_meeting", "arguments": {"day": self.day, "hour": self.hour, "title": self.title}},
            {"name": "invite", "arguments": {"title": self.title, "person": self.person}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
