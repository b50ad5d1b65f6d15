# expect: accepted
"""A row of seven tiles is brought into order by swapping neighbours within a bound of turns."""
import random


class TileRowEnv:
    def __init__(self, max_turns=14, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.tiles = list("acegikm")
        while not 4 <= len(self._swaps()) <= 11:
            rng.shuffle(self.tiles)
        self.turns = 0
        return self._view("Order the tiles."), {}

    def _swaps(self):
        tiles, swaps = list(self.tiles), []
        for _ in tiles:
            for i in range(len(tiles) - 1):
                if tiles[i] > tiles[i + 1]:
                    tiles[i], tiles[i + 1] = tiles[i + 1], tiles[i]
                    swaps.append(i + 1)
        return swaps

    def _view(self, text):
        return f"{text} {' '.join(self.tiles)}. \\boxed{{swap N}} swaps place N with the next, N from 1 to 6."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) != 2 or words[0] != "swap" or words[1] not in tuple("123456"):
            return self._view("Hm?"), 0.0, False, late, {}
        i = int(words[1])
        self.tiles[i - 1], self.tiles[i] = self.tiles[i], self.tiles[i - 1]
        if self.tiles == sorted(self.tiles):
            return "In order.", 1.0, True, False, {}
        return self._view("Swapped."), 0.0, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{swap {place}}}" for place in self._swaps())
