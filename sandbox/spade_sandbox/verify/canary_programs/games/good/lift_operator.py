# expect: accepted
"""A lift with three passengers, each of whom must be brought from one floor to another."""
import random


class LiftEnv:
    FLOORS = 8

    def __init__(self, max_turns=25, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.floor, self.turns = 1, 0
        self.people = {}
        for name in ("Kim", "Lou", "Max"):
            start, goal = rng.sample(range(1, self.FLOORS + 1), 2)
            self.people[name] = {"at": start, "to": goal, "state": "waits"}
        return self._view("Good morning."), {}

    def _view(self, text):
        waits = [f"{n} waits at {p['at']}" for n, p in self.people.items() if p["state"] == "waits"]
        rides = [f"{n} wants to {p['to']}" for n, p in self.people.items() if p["state"] == "rides"]
        rest = "; ".join(waits + rides) or "nobody is left"
        return f"{text} The lift is at floor {self.floor}; {rest}. \\boxed{{goto N}}, \\boxed{{load}}, \\boxed{{unload}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        text, reward = "The lift stands still.", 0.0
        if len(words) == 2 and words[0] == "goto" and words[1] in [str(n) for n in range(1, self.FLOORS + 1)]:
            self.floor, text = int(words[1]), "Ding."
        elif words == ["load"]:
            for person in self.people.values():
                if person["state"] == "waits" and person["at"] == self.floor:
                    person["state"], text = "rides", "Somebody steps in."
        elif words == ["unload"]:
            for person in self.people.values():
                if person["state"] == "rides" and person["to"] == self.floor:
                    person["state"], text, reward = "done", "Somebody steps out.", 0.3
        if all(person["state"] == "done" for person in self.people.values()):
            return "All are where they wanted to be.", 1.0, True, False, {}
        return self._view(text), reward, False, late, {}

    def solution(self):
        lines = []
        for person in self.people.values():
            if person["state"] == "waits":
                lines += [f"goto {person['at']}", "load"]
            if person["state"] != "done":
                lines += [f"goto {person['to']}", "unload"]
        seen, here, kept = set(), None, []
        people = {name: dict(person) for name, person in self.people.items()}
        for line in lines:
            if line.startswith("goto"):
                here = int(line[5:])
                kept.append(line)
                continue
            before = {n: p["state"] for n, p in people.items()}
            for p in people.values():
                if line == "load" and p["state"] == "waits" and p["at"] == here:
                    p["state"] = "rides"
                if line == "unload" and p["state"] == "rides" and p["to"] == here:
                    p["state"] = "done"
            if before == {n: p["state"] for n, p in people.items()}:
                kept.pop()
            else:
                kept.append(line)
        return "\n".join(f"\\boxed{{{line}}}" for line in kept)
