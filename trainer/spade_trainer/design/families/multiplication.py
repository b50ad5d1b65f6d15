"""A product of two long integers."""


class MultiplicationEnv(SingleTurn):
    def pose(self, draw, difficulty):
        longest = 2 + difficulty // 2
        self.factors = [self._factor(draw, longest), self._factor(draw, longest)]
        one, other = self.factors
        return f"What is {one} times {other}?", "the product, digits only"

    def _factor(self, draw, digits):
        return draw.randint(10 ** (digits - 1), 10**digits - 1)

    def correct(self, text):
        return integer(text) == self.factors[0] * self.factors[1]

    def answer(self):
        return self.factors[0] * self.factors[1]
