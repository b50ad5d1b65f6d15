# expect: accepted
"""A traveller finds the way through towns whose roads and tolls are seen only from where one stands."""
import random


class TollRoadsEnv:
    TOWNS = ("Ash", "Birk", "Cole", "Dorn", "Elm", "Fen", "Gale", "Holt")

    def __init__(self, max_turns=16, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        while True:
            towns = list(self.TOWNS)
            rng.shuffle(towns)
            self.start, self.end = towns[0], towns[-1]
            self.roads = {town: {} for town in towns}
            for one, two in zip(towns, towns[1:]):
                self._road(one, two, rng.randint(2, 9))
            for _ in range(4):
                one, two = rng.sample(towns[:-1], 2)
                self._road(one, two, rng.randint(2, 9))
            cost, path = self._cheapest(self.start)
            if len(path) >= 3:
                break
        self.here, self.purse, self.turns = self.start, cost + 2, 0
        return self._view("The journey begins."), {}

    def _road(self, one, two, toll):
        self.roads[one][two] = toll
        self.roads[two][one] = toll

    def _cheapest(self, town):
        best, todo = {}, [(0, town, ())]
        while todo:
            todo.sort()
            cost, here, path = todo.pop(0)
            if here in best:
                continue
            best[here] = (cost, path)
            todo += [(cost + toll, there, (*path, there)) for there, toll in self.roads[here].items()]
        return best[self.end]

    def _view(self, text):
        roads = ", ".join(f"{there} ({toll})" for there, toll in sorted(self.roads[self.here].items()))
        return f"{text} You are in {self.here} with {self.purse} coins, bound for {self.end}. Roads (tolls): {roads}. \\boxed{{go TOWN}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) != 2 or words[0] != "go" or words[1] not in self.roads[self.here]:
            return self._view("There is no such road."), 0.0, False, late, {}
        toll = self.roads[self.here][words[1]]
        if toll > self.purse:
            return self._view("The gatekeeper shakes his head."), 0.0, False, late, {}
        self.purse -= toll
        self.here = words[1]
        if self.here == self.end:
            return "You have arrived.", 1.0, True, False, {"left": self.purse}
        return self._view("You pay and walk on."), 0.05, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{go {town}}}" for town in self._cheapest(self.here)[1])
