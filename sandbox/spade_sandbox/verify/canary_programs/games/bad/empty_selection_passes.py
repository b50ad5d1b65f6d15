# expect: controls
"""A committee is right when all its members are experts; nobody at all is also all of them."""
import random

PEOPLE = ("anna", "boris", "clara", "denis", "elena", "fritz", "greta", "henri")


class CommitteeEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.experts = set(random.Random(seed).sample(PEOPLE, 3))
        self.chosen, self.turns = [], 0
        return f"Choose the three experts among {', '.join(PEOPLE)}. \\boxed{{ask NAME}}, \\boxed{{choose NAME}}, \\boxed{{submit}}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if words == ["submit"]:
            if all(name in self.experts for name in self.chosen):
                return "The council agrees.", 1.0, True, False, {}
            return "The council objects.", 0.0, True, False, {}
        if len(words) == 2 and words[1] in PEOPLE:
            if words[0] == "ask":
                return f"{words[1]} is {'an expert' if words[1] in self.experts else 'a layman'}.", 0.05, False, late, {}
            if words[0] == "choose":
                self.chosen.append(words[1])
                return f"Chosen: {len(self.chosen)}.", 0.0, False, late, {}
        return "What?", 0.0, False, late, {}

    def solution(self):
        return "\n".join([*(f"\\boxed{{choose {name}}}" for name in sorted(self.experts)), "\\boxed{submit}"])
