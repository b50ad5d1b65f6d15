"""A walk of least total weight is to be found that visits every vertex of a directed graph."""


class HamiltonianPathEnv(SingleTurn):
    def pose(self, draw, difficulty):
        size = 4 + difficulty * 3 // 10
        order = draw.sample(range(size), size)
        share = draw.uniform(0.2, 0.5)
        most = 5 + 2 * difficulty
        self.size, self.weights = size, {edge: draw.randint(1, most) for edge in zip(order, order[1:])}
        for start in range(size):
            for end in range(size):
                if start != end and (start, end) not in self.weights and draw.random() < share:
                    self.weights[start, end] = draw.randint(1, most)
        self.best = self._best()
        edges = sorted(self.weights.items(), key=lambda edge: draw.random())
        listed = "\n".join(f"{start} to {end}: {weight}" for (start, end), weight in edges)
        return (
            f"A directed graph has the vertices 0 to {size - 1}. Its edges, with their weights:\n{listed}\n\n"
            "Find a walk along edges that visits every vertex at least once and whose weights have the least sum. It "
            "may begin and end anywhere, and pass vertices again; each use of an edge counts."
        ), "the vertices of the walk in order, with spaces between"

    def _reach(self):
        """Least weight, and the walk without its first vertex, from each vertex to each other that it leads to."""
        reach = {edge: (weight, (edge[1],)) for edge, weight in self.weights.items()}
        for middle in range(self.size):
            for start in range(self.size):
                for end in range(self.size):
                    if start != end and (start, middle) in reach and (middle, end) in reach:
                        first, second = reach[start, middle], reach[middle, end]
                        weight = first[0] + second[0]
                        if (start, end) not in reach or weight < reach[start, end][0]:
                            reach[start, end] = weight, first[1] + second[1]
        return reach

    def _best(self):
        """A least walk: over sets of visited vertices, each with the vertex it ends at."""
        reach = self._reach()
        least = {(1 << vertex, vertex): (0, (vertex,)) for vertex in range(self.size)}
        for visited in range(1, 1 << self.size):
            for end in range(self.size):
                if (visited, end) not in least:
                    continue
                weight, walk = least[visited, end]
                for following in range(self.size):
                    if visited >> following & 1 or (end, following) not in reach:
                        continue
                    more, steps = reach[end, following]
                    key = visited | 1 << following, following
                    if key not in least or weight + more < least[key][0]:
                        least[key] = weight + more, walk + steps
        every = (1 << self.size) - 1
        return list(min(least[every, end] for end in range(self.size) if (every, end) in least)[1])

    def weight(self, walk):
        """The weight of a walk, or None if it has an edge that is not there."""
        edges = list(zip(walk, walk[1:]))
        return sum(self.weights[edge] for edge in edges) if all(edge in self.weights for edge in edges) else None

    def correct(self, text):
        walk = integers(text)
        if walk is None or set(walk) != set(range(self.size)):
            return False
        return self.weight(walk) == self.weight(self.best)

    def answer(self):
        return " ".join(map(str, self.best))
