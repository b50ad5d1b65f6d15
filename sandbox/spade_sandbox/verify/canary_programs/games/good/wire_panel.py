# expect: accepted
"""Six switches feed six lamps through a hidden wiring; the lamps must show the wanted picture."""
import random


class WirePanelEnv:
    def __init__(self, max_turns=18, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.wiring = list(range(6))
        rng.shuffle(self.wiring)
        self.wanted = [rng.random() < 0.5 for _ in range(6)]
        if sum(self.wanted) < 3:
            self.wanted = [not one for one in self.wanted]
        self.switches = [False] * 6
        self.turns = 0
        return self._view("A panel of switches 1 to 6."), {}

    def _lamps(self):
        lamps = [False] * 6
        for switch, lamp in enumerate(self.wiring):
            lamps[lamp] = self.switches[switch]
        return lamps

    def _view(self, text):
        show = lambda row: "".join("#" if one else "-" for one in row)
        return f"{text} Lamps {show(self._lamps())}, wanted {show(self.wanted)}. Throw one with \\boxed{{switch N}}; \\boxed{{check}} when done."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "switch" and words[1] in tuple("123456"):
            place = int(words[1]) - 1
            self.switches[place] = not self.switches[place]
            return self._view("Clack."), 0.0, False, late, {}
        if words == ["check"]:
            right = self._lamps() == self.wanted
            if right:
                return "The inspector nods.", 1.0, True, False, {}
            return "The inspector frowns and leaves.", 0.0, True, False, {}
        return self._view("What?"), 0.0, False, late, {}

    def solution(self):
        lines = [
            f"\\boxed{{switch {switch + 1}}}"
            for switch, lamp in enumerate(self.wiring)
            if self.switches[switch] != self.wanted[lamp]
        ]
        return "\n".join([*lines, "\\boxed{check}"])
