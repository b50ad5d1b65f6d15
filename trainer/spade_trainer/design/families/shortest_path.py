"""A path of least total weight is to be found in a directed graph."""

import heapq


class ShortestPathEnv(SingleTurn):
    def pose(self, draw, difficulty):
        size = 4 + difficulty
        order = [0, *draw.sample(range(1, size - 1), size - 2), size - 1]
        self.size, self.weights = size, {}
        for start, end in zip(order, order[1:]):
            self.weights[start, end] = draw.randint(1, 2 * size)
        share = draw.uniform(0.15, 0.4)
        for start in range(size):
            for end in range(size):
                apart = abs(order.index(start) - order.index(end))
                if start != end and (start, end) not in self.weights and draw.random() < share:
                    self.weights[start, end] = apart * draw.randint(1, 2 * size)
        edges = sorted(self.weights.items(), key=lambda edge: draw.random())
        listed = "\n".join(f"{start} to {end}: {weight}" for (start, end), weight in edges)
        return (
            f"A directed graph has the vertices 0 to {size - 1}. Its edges, with their weights:\n{listed}\n\n"
            f"Find a path from vertex 0 to vertex {size - 1} whose weights have the least sum."
        ), f"the vertices of the path, from 0 to {size - 1}, with spaces between"

    def best(self):
        """A path of least weight, by Dijkstra's algorithm."""
        heap, done = [(0, [0])], set()
        while heap:
            weight, path = heapq.heappop(heap)
            if path[-1] == self.size - 1:
                return path
            if path[-1] not in done:
                done.add(path[-1])
                for (start, end), more in self.weights.items():
                    if start == path[-1] and end not in done:
                        heapq.heappush(heap, (weight + more, [*path, end]))
        return []

    def weight(self, path):
        """The weight of a path, or None if it has an edge that is not there."""
        edges = list(zip(path, path[1:]))
        return sum(self.weights[edge] for edge in edges) if all(edge in self.weights for edge in edges) else None

    def correct(self, text):
        path = integers(text)
        if path is None or path[0] != 0 or path[-1] != self.size - 1:
            return False
        return self.weight(path) == self.weight(self.best())

    def answer(self):
        return " ".join(map(str, self.best()))
