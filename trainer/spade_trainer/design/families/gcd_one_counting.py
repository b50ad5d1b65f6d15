"""How many pairs below two bounds have no common divisor?"""


class GcdOneCountingEnv(SingleTurn):
    def pose(self, draw, difficulty):
        most = 6 + difficulty * (difficulty + 5)
        least = most // 2 + 1
        self.bounds = draw.randint(least, most), draw.randint(least, most)
        one, other = self.bounds
        return (
            f"For how many pairs (x, y) of integers with x from 1 to {one} and y from 1 to {other} is 1 the greatest "
            "common divisor of x and y? Pairs in another order are other pairs."
        ), "the number of pairs"

    def count(self):
        """All pairs with common divisor d, less those of its multiples, from the largest d down to 1."""
        one, other = self.bounds
        exact = {}
        for divisor in range(min(one, other), 0, -1):
            multiples = range(2 * divisor, min(one, other) + 1, divisor)
            exact[divisor] = (one // divisor) * (other // divisor) - sum(exact[multiple] for multiple in multiples)
        return exact[1]

    def correct(self, text):
        return integer(text) == self.count()

    def answer(self):
        return self.count()
