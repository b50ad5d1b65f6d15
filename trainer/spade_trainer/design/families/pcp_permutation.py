"""Pairs of words are to be put into an order in which the upper row and the lower row spell the same."""


class PcpPermutationEnv(SingleTurn):
    def pose(self, draw, difficulty):
        size = 3 + difficulty * 3 // 4
        while True:
            length = draw.randint(2 * size, 3 * size)
            letters = draw.choices("ab", k=length)
            upper, lower = self._cut(draw, letters, size), self._cut(draw, letters, size)
            order = draw.sample(range(size), size)
            self.pairs = [(upper[place], lower[place]) for place in order]
            self.order = [order.index(place) for place in range(size)]
            if not self.fits(list(range(size))):
                break
        listed = "\n".join(f"{number}: {one} / {other}" for number, (one, other) in enumerate(self.pairs))
        return (
            f"There are {size} cards, each with an upper and a lower word:\n{listed}\n\n"
            "Lay all cards in a row so that the upper words, read one after another, spell the same text as the lower "
            "words."
        ), f"the card numbers 0 to {size - 1} in the order of the row, with spaces between"

    def _cut(self, draw, letters, pieces):
        """The text in so many words, none of them empty."""
        ends = [0, *sorted(draw.sample(range(1, len(letters)), pieces - 1)), len(letters)]
        return ["".join(letters[start:end]) for start, end in zip(ends, ends[1:])]

    def fits(self, order):
        """Whether both rows spell the same in this order of the cards."""
        return "".join(self.pairs[card][0] for card in order) == "".join(self.pairs[card][1] for card in order)

    def correct(self, text):
        order = integers(text)
        if order is None or sorted(order) != list(range(len(self.pairs))):
            return False
        return self.fits(order)

    def answer(self):
        return " ".join(map(str, self.order))
