# expect: accepted
"""Flights: a cancelled flight is rebooked to the next one with a free seat, with the seat that was asked for."""
import random


class FlightEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "flights_to": {"description": "Flights to a city with departure and free seats.", "parameters": {"type": "object", "properties": {"city": s}, "required": ["city"]}},
            "rebook": {"description": "Move a passenger to a flight.", "parameters": {"type": "object", "properties": {"passenger": s, "flight": s}, "required": ["passenger", "flight"]}},
            "choose_seat": {"description": "Choose a passenger's seat.", "parameters": {"type": "object", "properties": {"passenger": s, "seat": {"type": "string", "enum": ["aisle", "window", "middle"]}}, "required": ["passenger", "seat"]}},
            "baggage_rules": {"description": "What may be carried.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.city = rng.choice(["Lagos", "Oslo", "Quito", "Seoul"])
        codes = [f"SP{n}" for n in rng.sample(range(100, 999), 5)]
        hours = sorted(rng.sample(range(6, 23), 5))
        seats = [0, rng.randint(1, 9), rng.randint(0, 9), rng.randint(0, 9), 3]
        self._state = {"flights": {c: {"city": self.city, "hour": h, "free": f} for c, h, f in zip(codes, hours, seats)}, "booked": {}, "seat": {}}
        self.name = rng.choice(["Petrov", "Quist", "Rossi", "Sato"])
        self.flight, self.seat = codes[1], rng.choice(["aisle", "window"])
        booked, seat = {self.name: self.flight}, {self.name: self.seat}
        self._user_messages = [
            f"{self.name}'s flight to {self.city} was cancelled. Rebook to the earliest one with a free seat.",
            f"With an {self.seat} seat, please." if self.seat == "aisle" else f"With a {self.seat} seat, please.",
        ]
        self._message_criteria = [lambda st: st["booked"] == booked, lambda st: st["seat"] == seat]
        return self._user_messages[0], {}

    def tool_flights_to(self, city):
        found = [f"{c} at {f['hour']}:00, {f['free']} free" for c, f in self._state["flights"].items() if f["city"] == city]
        return ("; ".join(found) or "No flights.") + self._advance_if_done()

    def tool_rebook(self, passenger, flight):
        if self._state["flights"].get(flight, {"free": 0})["free"] < 1 or not isinstance(passenger, str):
            return "No seat on that flight." + self._advance_if_done()
        self._state["booked"][passenger] = flight
        return "Rebooked." + self._advance_if_done()

    def tool_choose_seat(self, passenger, seat):
        if passenger not in self._state["booked"] or seat not in ("aisle", "window", "middle"):
            return "Not possible." + self._advance_if_done()
        self._state["seat"][passenger] = seat
        return "Chosen." + self._advance_if_done()

    def tool_baggage_rules(self):
        return "One bag of 23 kg." + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "flights_to", "arguments": {"city": self.city}},
            {"name": "rebook", "arguments": {"passenger": self.name, "flight": self.flight}},
            {"name": "choose_seat", "arguments": {"passenger": self.name, "seat": self.seat}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
