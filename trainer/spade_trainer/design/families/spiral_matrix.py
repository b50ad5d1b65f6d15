"""A matrix is to be read along a spiral, clockwise and inwards."""


class SpiralMatrixEnv(SingleTurn):
    def pose(self, draw, difficulty):
        most = 2 + (difficulty + 1) // 2
        rows, columns = draw.randint(max(2, most - 1), most), draw.randint(max(2, most - 1), most)
        numbers = draw.sample(range(1, 1 + 4 * rows * columns), rows * columns)
        self.rows = [numbers[start : start + columns] for start in range(0, rows * columns, columns)]
        shown = "\n".join(" ".join(map(str, row)) for row in self.rows)
        return (
            f"A matrix has {rows} rows and {columns} columns:\n{shown}\n\n"
            "Begin in its upper left corner and walk to the right along the edge, then down, left and up, and on inwards "
            "in the same turning direction, until every entry was visited once. Which numbers do you pass?"
        ), "all entries in the order of the walk, with spaces between"

    def walk(self):
        """The entries along the spiral: the first row is taken off and the rest turned, again and again."""
        left, passed = [list(row) for row in self.rows], []
        while left:
            passed += left.pop(0)
            left = [list(column) for column in zip(*left)][::-1]
        return passed

    def correct(self, text):
        return integers(text) == self.walk()

    def answer(self):
        return " ".join(map(str, self.walk()))
