"""Truth values are to be found that satisfy all clauses."""


class SatEnv(SingleTurn):
    def pose(self, draw, difficulty):
        size = 4 + difficulty
        self.hidden = [draw.randrange(2) for _ in range(size)]
        if len(set(self.hidden)) == 1:
            self.hidden[draw.randrange(size)] ^= 1
        self.clauses = []
        while len(self.clauses) < 4 * size or self.satisfied([0] * size) or self.satisfied([1] * size):
            clause = sorted((place, draw.randrange(2)) for place in draw.sample(range(size), 3))
            if any(self.hidden[place] == wanted for place, wanted in clause):
                self.clauses.append(clause)
        lines = [" or ".join(f"x{place}" if wanted else f"not x{place}" for place, wanted in c) for c in self.clauses]
        listed = "\n".join(lines)
        return (
            f"Each of the variables x0 to x{size - 1} is 0 (false) or 1 (true). Find values with which every line is "
            f"true:\n{listed}"
        ), f"the {size} values of x0 to x{size - 1}, with spaces between"

    def satisfied(self, values):
        """Whether every clause has a literal that these values make true."""
        return all(any(values[place] == wanted for place, wanted in clause) for clause in self.clauses)

    def correct(self, text):
        values = integers(text)
        if values is None or len(values) != len(self.hidden) or not set(values) <= {0, 1}:
            return False
        return self.satisfied(values)

    def answer(self):
        return " ".join(map(str, self.hidden))
