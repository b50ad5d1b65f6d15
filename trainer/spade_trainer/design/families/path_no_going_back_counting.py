"""How many walks of a given length lead from the first vertex to the last without turning on the spot?"""

MODULUS = 10000


class PathNoGoingBackCountingEnv(SingleTurn):
    def pose(self, draw, difficulty):
        size = 4 + difficulty // 2
        while True:
            share = draw.uniform(0.4, 0.9)
            pairs = [(one, other) for other in range(size) for one in range(other)]
            self.edges = [pair for pair in pairs if draw.random() < share]
            self.length = draw.randint(2 + difficulty // 2, 3 + difficulty)
            self.size = size
            if self.count() > 0:
                break
        shown = ", ".join(f"{one}-{other}" for one, other in self.edges)
        return (
            f"A graph has the vertices 0 to {size - 1} and these edges, which can be walked both ways: {shown}.\n"
            f"How many walks from vertex 0 to vertex {size - 1} have exactly {self.length} steps, if no step may lead "
            "back along the edge of the step before it? Vertices and edges may repeat otherwise. Give the number "
            f"modulo {MODULUS}."
        ), "the number of walks modulo " + str(MODULUS)

    def count(self):
        """Walks by their last step; a step goes on to all steps that begin where it ends, but the one back."""
        steps = [*self.edges, *((other, one) for one, other in self.edges)]
        walks = {step: int(step[0] == 0) for step in steps}
        for _ in range(self.length - 1):
            into = [0] * self.size
            for (_, end), number in walks.items():
                into[end] += number
            walks = {(one, other): into[one] - walks[other, one] for one, other in steps}
        return sum(number for (_, end), number in walks.items() if end == self.size - 1) % MODULUS

    def correct(self, text):
        return integer(text) == self.count()

    def answer(self):
        return self.count()
