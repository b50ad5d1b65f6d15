# expect: solution
"""The program's own solution books the wrong day."""
import random


class WrongDayEnv(ToolUseBaseEnv):
    DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri")

    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        day = {"type": "string", "enum": list(self.DAYS)}
        self._tools = {
            "book_court": {"description": "Book the court on a day; a booking is final.", "parameters": {"type": "object", "properties": {"day": day}, "required": ["day"]}},
            "court_plan": {"description": "Free days.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        self.day = random.Random(seed).choice(self.DAYS)
        self._state = {"booked": None}
        day = self.day
        self._user_messages = [f"Book the court on {day}."]
        self._message_criteria = [lambda st: st["booked"] == day]
        return self._user_messages[0], {}

    def tool_book_court(self, day):
        if self._state["booked"] is not None or day not in self.DAYS:
            return "Not possible." + self._advance_if_done()
        self._state["booked"] = day
        return "Booked." + self._advance_if_done()

    def tool_court_plan(self):
        return "All days are free." + self._advance_if_done()

    def solution(self):
        wrong = self.DAYS[(self.DAYS.index(self.day) + 1) % 5]
        return f'<tool_call>{{"name": "book_court", "arguments": {{"day": "{wrong}"}}}}</tool_call>\n<answer>done</answer>'
