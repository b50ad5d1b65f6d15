"""How many rectangles of a grid hold no damaged cell?"""


class UndamagedSubmatrixCountingEnv(SingleTurn):
    def pose(self, draw, difficulty):
        most = 2 + (difficulty + 1) // 2
        rows, columns = draw.randint(max(2, most - 1), most), draw.randint(max(2, most - 1), most)
        share = draw.uniform(0.5, 0.9)
        self.grid = [[int(draw.random() < share) for _ in range(columns)] for _ in range(rows)]
        self.grid[draw.randrange(rows)][draw.randrange(columns)] = 1
        shown = "\n".join("".join(map(str, row)) for row in self.grid)
        return (
            f"A grid has {rows} rows and {columns} columns; 1 is a sound cell and 0 a damaged one:\n{shown}\n\n"
            "How many rectangles of neighbouring rows and neighbouring columns hold sound cells only? Single cells and "
            "the whole grid count as rectangles, and each place counts on its own."
        ), "the number of rectangles"

    def count(self):
        """By the lower right corner: `heights` are the sound cells above each cell of a row, itself included."""
        total, heights = 0, [0] * len(self.grid[0])
        for row in self.grid:
            heights = [height + 1 if cell else 0 for height, cell in zip(heights, row)]
            for right in range(len(row)):
                lowest = heights[right]
                for left in range(right, -1, -1):
                    lowest = min(lowest, heights[left])
                    total += lowest
        return total

    def correct(self, text):
        return integer(text) == self.count()

    def answer(self):
        return self.count()
