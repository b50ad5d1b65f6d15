# expect: accepted
"""Gather ingredients and craft in the order that a recipe, revealed page by page, demands."""
import random

THINGS = ("salt", "iron", "wax", "herb", "bone", "glass")


class WorkshopEnv:
    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.recipe = rng.sample(THINGS, 4)
        self.bag, self.pot, self.page, self.turns = [], [], 0, 0
        return "You are in a workshop. \\boxed{page} turns the recipe's page, \\boxed{get THING} fetches, \\boxed{put THING} adds it to the pot, \\boxed{stir} finishes.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if words == ["page"]:
            self.page = min(self.page + 1, 4)
            return f"Page {self.page}: ingredient {self.page} is {self.recipe[self.page - 1]}.", 0.05, False, late, {}
        if len(words) == 2 and words[0] == "get" and words[1] in THINGS:
            self.bag.append(words[1])
            return f"You have {', '.join(self.bag[-6:])}.", 0.0, False, late, {}
        if len(words) == 2 and words[0] == "put" and words[1] in self.bag:
            self.bag.remove(words[1])
            self.pot.append(words[1])
            return f"In the pot: {', '.join(self.pot[-6:])}.", 0.0, False, late, {}
        if words == ["stir"]:
            done = self.pot == self.recipe
            self.pot = [] if not done else self.pot
            return ("It glows!" if done else "A grey mush; you empty the pot."), float(done), done, late and not done, {}
        return "Nothing happens.", 0.0, False, late, {}

    def solution(self):
        lines = [f"{verb} {thing}" for thing in self.recipe for verb in ("get", "put")]
        return "\n".join(f"\\boxed{{{line}}}" for line in [*lines, "stir"])
