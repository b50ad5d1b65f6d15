# expect: accepted
"""A robot carries parcels to the right shelves; the address of a parcel is read by scanning it."""
import random


class DepotEnv:
    def __init__(self, max_turns=24, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.shelf = {f"P{n}": rng.choice("ABCDEFGH") for n in (1, 2, 3)}
        self.placed, self.held, self.turns = {}, None, 0
        return self._view("Parcels P1, P2 and P3 wait."), {}

    def _view(self, text):
        return f"{text} Held: {self.held or 'nothing'}; placed: {', '.join(self.placed) or 'none'}. \\boxed{{scan P1}}, \\boxed{{lift P1}}, \\boxed{{drop A}} (shelves A to H)."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        verb, thing = (words + ["", ""])[:2]
        if len(words) == 2 and verb == "scan" and thing in self.shelf:
            return self._view(f"{thing} goes to shelf {self.shelf[thing]}."), 0.05, False, late, {}
        if len(words) == 2 and verb == "lift" and thing in self.shelf and thing not in self.placed and not self.held:
            self.held = thing
            return self._view("Lifted."), 0.0, False, late, {}
        if len(words) == 2 and verb == "drop" and self.held and len(thing) == 1 and thing in "ABCDEFGH":
            parcel, self.held = self.held, None
            if thing != self.shelf[parcel]:
                return self._view("The shelf refuses it; the parcel is back at the door."), 0.0, False, late, {}
            self.placed[parcel] = thing
            if len(self.placed) == 3:
                return "The depot is tidy.", 1.0, True, False, {}
            return self._view("Placed."), 0.25, False, late, {}
        return self._view("Beep?"), 0.0, False, late, {}

    def solution(self):
        lines = []
        if self.held:
            lines.append(f"drop {self.shelf[self.held]}")
        for parcel in self.shelf:
            if parcel not in self.placed and parcel != self.held:
                lines += [f"lift {parcel}", f"drop {self.shelf[parcel]}"]
        return "\n".join(f"\\boxed{{{line}}}" for line in lines)
