"""Ground is to be levelled with the fewest passes, each of which raises or lowers a stretch by one of two heights."""

import heapq
import math


class WyrLevelingGroundEnv(SingleTurn):
    def pose(self, draw, difficulty):
        length = 2 + difficulty // 2
        most = 3 + difficulty
        self.steps = tuple(draw.sample(range(1, 1 + most), 2))
        one, other = self.steps
        self.heights = [0] * length
        while not any(self.heights):
            self.heights = [one * draw.randint(-most, most) + other * draw.randint(-most, most) for _ in range(length)]
        listed = " ".join(map(str, self.heights))
        return (
            f"The heights of {length} plots in a row are:\n{listed}\n\n"
            f"In one pass you choose a stretch of neighbouring plots and raise all of them by {one}, lower all by {one}, "
            f"raise all by {other} or lower all by {other}. What is the least number of passes after which every height "
            "is 0? Heights may become negative on the way."
        ), "the number of passes"

    def least(self):
        """Half of the least changes at the borders of plots.

        A pass of one height changes two borders, one up and one down. So border i is a whole number x of the one height
        plus y of the other, and both numbers sum to zero over all borders. Another pair for the same border has x
        changed by a multiple of `over` and y by as many of `under`. The cost |x| + |y| is convex in that multiple, so
        from each border's least cost the cheapest single changes lead to the sum of zero.
        """
        one, other = self.steps
        shared = math.gcd(one, other)
        over, under = other // shared, one // shared
        places = [0, *self.heights, 0]
        pairs = [self._cheapest(after - before, shared) for before, after in zip(places, places[1:])]
        excess = sum(x for x, _ in pairs) // over
        sign = -1 if excess > 0 else 1

        def rise(number):
            x, y = pairs[number]
            return abs(x + sign * over) + abs(y - sign * under) - abs(x) - abs(y)

        heap = [(rise(number), number) for number in range(len(pairs))]
        heapq.heapify(heap)
        for _ in range(abs(excess)):
            _, number = heapq.heappop(heap)
            x, y = pairs[number]
            pairs[number] = x + sign * over, y - sign * under
            heapq.heappush(heap, (rise(number), number))
        return sum(abs(x) + abs(y) for x, y in pairs) // 2

    def _cheapest(self, change, shared):
        """x and y of the least |x| + |y| with x times one height and y times the other equal to the change."""
        one, other = self.steps
        over, under = other // shared, one // shared
        x = change // shared * pow(under, -1, over) % over if over > 1 else 0
        y = (change - one * x) // other
        near = {0, -x // over, 1 - x // over, y // under, y // under + 1}
        pairs = [(x + turns * over, y - turns * under) for turns in sorted(near)]
        return min(pairs, key=lambda pair: abs(pair[0]) + abs(pair[1]))

    def correct(self, text):
        return integer(text) == self.least()

    def answer(self):
        return self.least()
