"""A quotient of two long integers, rounded down."""


class DivisionEnv(SingleTurn):
    def pose(self, draw, difficulty):
        digits = 1 + (difficulty + 1) // 2
        divisor = draw.randint(max(2, 10 ** (digits - 1)), 10**digits - 1)
        quotient = draw.randint(10 ** (1 + difficulty // 2), 10 ** (2 + difficulty // 2) - 1)
        dividend = divisor * quotient + draw.randrange(divisor)
        self.dividend, self.divisor = dividend, divisor
        return f"Divide {dividend} by {divisor} and drop the remainder. What is the quotient?", "the integer alone"

    def correct(self, text):
        return integer(text) == self.dividend // self.divisor

    def answer(self):
        return self.dividend // self.divisor
