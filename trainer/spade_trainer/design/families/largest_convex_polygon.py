"""As many points as possible are to be chosen that are the corners of one convex polygon."""

import functools


def cross(start, one, other):
    """Positive if `other` lies to the left of the way from `start` to `one`."""
    return (one[0] - start[0]) * (other[1] - start[1]) - (one[1] - start[1]) * (other[0] - start[0])


class LargestConvexPolygonEnv(SingleTurn):
    def pose(self, draw, difficulty):
        size = 5 + difficulty * 3 // 4
        side = 5 * size
        self.points = []
        while len(self.points) < size:
            new = draw.randint(0, side), draw.randint(0, side)
            pairs = [(one, other) for place, one in enumerate(self.points) for other in self.points[:place]]
            if new not in self.points and all(cross(one, other, new) for one, other in pairs):
                self.points.append(new)
        self.best = self._best()
        listed = "\n".join(f"{number}: ({x}, {y})" for number, (x, y) in enumerate(self.points, start=1))
        return (
            f"Here are {size} points of the plane, no three of them on one line:\n{listed}\n\n"
            "Choose as many of them as possible so that the chosen points are exactly the corners of a convex polygon: "
            "none of them may lie inside of what the others span."
        ), "the numbers of the chosen points, in any order, with spaces between"

    def _best(self):
        """Edges in the order of their direction: a convex polygon uses some of them in this order, from its start."""
        points = self.points
        count = len(points)

        def by_direction(one, other):
            (ax, ay), (bx, by) = (
                (points[end][0] - points[start][0], points[end][1] - points[start][1]) for start, end in (one, other)
            )
            halves = (ay < 0 or (ay == 0 and ax < 0)) - (by < 0 or (by == 0 and bx < 0))
            return halves or ay * bx - ax * by

        edges = [(start, end) for start in range(count) for end in range(count) if start != end]
        edges.sort(key=functools.cmp_to_key(by_direction))
        best = []
        for first in range(count):
            chains = {first: (first,)}
            for start, end in edges:
                if start not in chains:
                    continue
                chain = chains[start]
                if end == first:
                    best = max(best, chain, key=len)
                elif len(chain) + 1 > len(chains.get(end, ())):
                    chains[end] = (*chain, end)
        return [number + 1 for number in best]

    def convex(self, chosen):
        """Whether each chosen point is a corner of the hull of all chosen ones."""
        points = sorted(self.points[number - 1] for number in chosen)
        corners = set()
        for row in (points, points[::-1]):
            chain = []
            for point in row:
                while len(chain) > 1 and cross(chain[-2], chain[-1], point) <= 0:
                    chain.pop()
                chain.append(point)
            corners.update(chain)
        return len(corners) == len(points)

    def correct(self, text):
        chosen = integers(text)
        if chosen is None or len(set(chosen)) != len(chosen) or not set(chosen) <= set(range(1, 1 + len(self.points))):
            return False
        return len(chosen) == len(self.best) and self.convex(chosen)

    def answer(self):
        return " ".join(map(str, self.best))
