# expect: accepted
"""A ship plans its course through ports with fuel; each leg burns fuel and some ports sell it."""
import random
from collections import deque


class FuelRouteEnv:
    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        while True:
            self.links = {n: sorted(rng.sample([m for m in range(9) if m != n], 3)) for n in range(9)}
            self.depots = set(rng.sample(range(1, 8), 3))
            self.here, self.goal, self.fuel = 0, rng.randint(4, 8), 2
            plan = self._plan()
            if plan is not None and len(plan) >= 5:
                break
        self.turns = 0
        return self._view("Cast off."), {}

    def _moves(self, here, fuel):
        if here in self.depots and fuel < 3:
            yield "refuel", here, 3
        if fuel:
            for there in self.links[here]:
                yield f"sail {there}", there, fuel - 1

    def _plan(self):
        queue, back = deque([(self.here, self.fuel)]), {(self.here, self.fuel): ()}
        while queue:
            here, fuel = queue.popleft()
            if here == self.goal:
                return back[here, fuel]
            for word, there, left in self._moves(here, fuel):
                if (there, left) not in back:
                    back[there, left] = (*back[here, fuel], word)
                    queue.append((there, left))
        return None

    def _view(self, text):
        depot = " A depot is here." if self.here in self.depots else ""
        return f"{text} Port {self.here}, fuel {self.fuel}, bound for port {self.goal}.{depot} Lanes to {self.links[self.here]}. \\boxed{{sail N}}, \\boxed{{refuel}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        word = " ".join(action.strip().removeprefix("\\boxed{").removesuffix("}").split())
        for move, there, left in self._moves(self.here, self.fuel):
            if word == move:
                self.here, self.fuel = there, left
                if self.here == self.goal:
                    return "Land ahoy!", 1.0, True, False, {}
                return self._view("Aye."), 0.0, False, late, {}
        return self._view("That cannot be done."), 0.0, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{move}}}" for move in self._plan() or ())
