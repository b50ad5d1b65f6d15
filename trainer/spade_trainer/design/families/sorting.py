"""A list of integers is to be put into ascending order."""


class SortingEnv(SingleTurn):
    def pose(self, draw, difficulty):
        length = 4 + 2 * difficulty
        self.numbers = [draw.randint(0, 10 * length) for _ in range(length)]
        while self.numbers == sorted(self.numbers):
            draw.shuffle(self.numbers)
            self.numbers[0] += 1
        listed = " ".join(map(str, self.numbers))
        return f"Put these {length} integers into ascending order, repetitions included:\n{listed}", (
            "all of them in order, with spaces between"
        )

    def correct(self, text):
        return integers(text) == sorted(self.numbers)

    def answer(self):
        return " ".join(map(str, sorted(self.numbers)))
