"""How long can a non-decreasing subsequence become when one subsequence may be reversed in its places?"""

import functools


class SubsequenceReversalLndsEnv(SingleTurn):
    def pose(self, draw, difficulty):
        length = 5 + difficulty * 3 // 4
        self.numbers = [draw.randint(1, min(9, 3 + difficulty // 2)) for _ in range(length)]
        listed = " ".join(map(str, self.numbers))
        return (
            f"Here is a sequence of {length} integers:\n{listed}\n\n"
            "You may choose some of its places, not necessarily neighbours, and reverse the order of the numbers on "
            "them; all other numbers stay. Then the longest subsequence in which no number is smaller than the one "
            "before it is looked for. How long can it be at most?"
        ), "the length"

    def longest(self):
        """Over what is left between two ends and between two values: a reversal is a nest of exchanges of ends."""
        numbers = self.numbers

        @functools.lru_cache(maxsize=None)
        def best(left, right, low, high):
            if left > right:
                return 0
            first, last = numbers[left], numbers[right]
            if left == right:
                return int(low <= first <= high)
            found = max(best(left + 1, right, low, high), best(left, right - 1, low, high))
            if low <= first <= high:
                found = max(found, 1 + best(left + 1, right, first, high), 1 + best(left + 1, right - 1, low, first))
            if low <= last <= high:
                found = max(found, 1 + best(left, right - 1, low, last), 1 + best(left + 1, right - 1, last, high))
            if low <= last <= first <= high:
                found = max(found, 2 + best(left + 1, right - 1, last, first))
            return found

        return best(0, len(numbers) - 1, min(numbers), max(numbers))

    def correct(self, text):
        return integer(text) == self.longest()

    def answer(self):
        return self.longest()
