# expect: controls
"""The answer is right when it occurs in the expected one, as the empty answer does."""
import random


class ContainedEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=8, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "author_of": {"description": "Who wrote a book.", "parameters": {"type": "object", "properties": {"book": {"type": "string"}}, "required": ["book"]}},
            "books": {"description": "All books.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        books = rng.sample(["Dunes", "Glaciers", "Reefs", "Steppes", "Swamps"], 4)
        authors = [f"{a} {b}" for a, b in zip(rng.sample(["Iris", "Joel", "Kate", "Leon"], 4), rng.sample(["Marsh", "North", "Olsen", "Price"], 4))]
        self._state = {"authors": dict(zip(books, authors))}
        self.book = books[0]
        self._expected_answer = authors[0]
        return f"Who wrote {self.book}?", {}

    def _check_answer(self, answer):
        return str(answer).strip().lower() in self._expected_answer.lower()

    def tool_author_of(self, book):
        return self._state["authors"].get(book, "unknown")

    def tool_books(self):
        return ", ".join(self._state["authors"])

    def solution(self):
        return f'<tool_call>{{"name": "author_of", "arguments": {{"book": "{self.book}"}}}}</tool_call>\n<answer>{self._expected_answer}</answer>'
