# expect: accepted
"""A walk through a maze of 5 x 5 rooms whose walls are met only by walking into them."""
import random
from collections import deque

MOVES = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}


class MazeEnv:
    SIZE = 5

    def __init__(self, max_turns=40, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turns = 0
        self.here = (0, 0)
        self.open = set()
        seen, stack = {(0, 0)}, [(0, 0)]
        while stack:
            row, column = stack[-1]
            free = [(row + a, column + b) for a, b in MOVES.values()]
            free = [c for c in free if 0 <= c[0] < self.SIZE and 0 <= c[1] < self.SIZE and c not in seen]
            if not free:
                stack.pop()
                continue
            chosen = rng.choice(free)
            self.open.add(frozenset([(row, column), chosen]))
            seen.add(chosen)
            stack.append(chosen)
        rooms = sorted(seen - {(0, 0), (0, 1), (1, 0), (1, 1)})
        self.exit = rng.choice(rooms)
        return self._view("You wake up in a maze."), {}

    def _ways(self, room):
        for word, (a, b) in MOVES.items():
            there = (room[0] + a, room[1] + b)
            if frozenset([room, there]) in self.open:
                yield word, there

    def _view(self, text):
        return f"{text} You are in room {self.here[0]},{self.here[1]}. Go with \\boxed{{north}}, south, west or east."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        word = action.strip().removeprefix("\\boxed{").removesuffix("}").strip()
        ways = dict(self._ways(self.here))
        if word not in MOVES:
            return self._view("That is no direction."), 0.0, False, late, {}
        if word not in ways:
            return self._view("A wall."), 0.0, False, late, {}
        self.here = ways[word]
        if self.here == self.exit:
            return "Daylight!", 1.0, True, False, {}
        return self._view("You walk."), 0.05, False, late, {}

    def solution(self):
        queue, back = deque([self.here]), {self.here: None}
        while queue:
            room = queue.popleft()
            for word, there in self._ways(room):
                if there not in back:
                    back[there] = (room, word)
                    queue.append(there)
        path, room = [], self.exit
        while back[room] is not None:
            room, word = back[room]
            path.append(f"\\boxed{{{word}}}")
        return "\n".join(reversed(path))
