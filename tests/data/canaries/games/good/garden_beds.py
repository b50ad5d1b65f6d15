# expect: accepted
"""Four plants each want their own bed; questions are answered with riddles of light and water."""
import random

PLANTS = ("rose", "fern", "sage", "lily")


class GardenEnv:
    def __init__(self, max_turns=16, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        beds = list(range(1, 7))
        rng.shuffle(beds)
        self.bed = dict(zip(PLANTS, beds))
        self.set, self.turns = {}, 0
        return "Beds 1 to 6, plants rose, fern, sage and lily. \\boxed{ask PLANT}, \\boxed{plant PLANT N}, \\boxed{bloom} when done.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "ask" and words[1] in PLANTS:
            bed = self.bed[words[1]]
            return f"It likes {'sun' if bed <= 3 else 'shade'} and {('little', 'some', 'much')[(bed - 1) % 3]} water.", 0.05, False, late, {}
        if len(words) == 3 and words[0] == "plant" and words[1] in PLANTS and words[2] in tuple("123456"):
            self.set[words[1]] = int(words[2])
            return f"The {words[1]} stands in bed {words[2]}.", 0.0, False, late, {}
        if words == ["bloom"] and len(self.set) == 4:
            right = sum(self.set[p] == self.bed[p] for p in PLANTS)
            if right == 4:
                return "A sea of flowers.", 1.0, True, False, {}
            return "Some wither, and the summer is over.", 0.1 * right, True, False, {}
        return "A bee hums.", 0.0, False, late, {}

    def solution(self):
        return "\n".join([*(f"\\boxed{{plant {p} {self.bed[p]}}}" for p in PLANTS), "\\boxed{bloom}"])
