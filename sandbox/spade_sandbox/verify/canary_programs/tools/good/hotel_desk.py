# expect: accepted
"""Hotel booking: find the cheapest room that suits, book it, and add breakfast."""
import random


class HotelDeskEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        text = {"type": "string"}
        self._tools = {
            "search_rooms": {"description": "Rooms for a number of guests, with prices.", "parameters": {"type": "object", "properties": {"guests": {"type": "integer"}}, "required": ["guests"]}},
            "book_room": {"description": "Book a room for a guest.", "parameters": {"type": "object", "properties": {"room": text, "guest": text}, "required": ["room", "guest"]}},
            "add_service": {"description": "Add a service to a booking.", "parameters": {"type": "object", "properties": {"room": text, "service": {"type": "string", "enum": ["breakfast", "parking", "late checkout"]}}, "required": ["room", "service"]}},
            "weather": {"description": "Tomorrow's weather.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        rooms = [str(n) for n in rng.sample(range(100, 700), 6)]
        prices = rng.sample(range(60, 300), 6)
        self._state = {"rooms": {r: {"price": p, "beds": 2 + (k % 2) * 2} for k, (r, p) in enumerate(zip(rooms, prices))}, "bookings": {}, "services": {}}
        self.guest = rng.choice(["Okafor", "Lindqvist", "Marchetti", "Tanaka"])
        self.service = rng.choice(["breakfast", "parking"])
        suits = [r for r in rooms if self._state["rooms"][r]["beds"] == 4]
        self.room = min(suits, key=lambda r: self._state["rooms"][r]["price"])
        self._user_messages = [
            f"Book the cheapest room for four guests in the name of {self.guest}.",
            f"Add {self.service} to it.",
        ]
        self._message_criteria = [self._booked, self._served]
        return self._user_messages[0], {}

    def _booked(self):
        return self._state["bookings"] == {self.room: self.guest}

    def _served(self):
        return self._state["services"] == {self.room: [self.service]}

    def tool_search_rooms(self, guests):
        found = [f"{r} at {d['price']}" for r, d in self._state["rooms"].items() if type(guests) is int and d["beds"] >= guests]
        return (", ".join(found) or "No room is large enough.") + self._advance_if_done()

    def tool_book_room(self, room, guest):
        if room not in self._state["rooms"] or room in self._state["bookings"]:
            return "That room cannot be booked." + self._advance_if_done()
        self._state["bookings"][room] = guest
        return f"Room {room} is booked." + self._advance_if_done()

    def tool_add_service(self, room, service):
        if room not in self._state["bookings"] or service not in ("breakfast", "parking", "late checkout"):
            return "No such booking or service." + self._advance_if_done()
        self._state["services"].setdefault(room, []).append(service)
        return "Added." + self._advance_if_done()

    def tool_weather(self):
        return "Mild, some rain." + self._advance_if_done()

    def solution(self):
        return (
            f'<tool_call>{{"name": "book_room", "arguments": {{"room": "{self.room}", "guest": "{self.guest}"}}}}</tool_call>\n'
            f'<tool_call>{{"name": "add_service", "arguments": {{"room": "{self.room}", "service": "{self.service}"}}}}</tool_call>\n'
            "<answer>done</answer>"
        )
