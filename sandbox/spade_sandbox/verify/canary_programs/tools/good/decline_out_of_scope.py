# expect: accepted
"""A desk that can renew library loans but not buy books: one request is to be done, the other declined."""
import random


class LibraryDeskEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "loans_of": {"description": "Loans of a card.", "parameters": {"type": "object", "properties": {"card": s}, "required": ["card"]}},
            "renew": {"description": "Renew one loan.", "parameters": {"type": "object", "properties": {"card": s, "book": s}, "required": ["card", "book"]}},
            "decline_request": {"description": "Decline what no tool can do.", "parameters": {"type": "object", "properties": {"reason": {"type": "string", "enum": ["not offered", "not allowed"]}}, "required": ["reason"]}},
            "opening_hours": {"description": "When we are open.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.card = f"C{rng.randint(1000, 9999)}"
        books = rng.sample(["Atlas", "Botany", "Comets", "Deltas", "Estuaries"], 3)
        days = rng.sample(range(1, 20), 3)
        self._state = {"loans": {self.card: dict(zip(books, days))}, "renewed": [], "declined": []}
        self.book = min(zip(days, books))[1]
        book = self.book
        self._user_messages = [
            f"Renew the loan of card {self.card} that is due first.",
            "And buy me a copy of it, please.",
        ]
        self._message_criteria = [
            lambda st: st["renewed"] == [book],
            lambda st: st["declined"] == ["not offered"],
        ]
        return self._user_messages[0], {}

    def tool_loans_of(self, card):
        loans = self._state["loans"].get(card)
        if loans is None:
            return "No such card." + self._advance_if_done()
        return ", ".join(f"{b} due in {d} days" for b, d in loans.items()) + self._advance_if_done()

    def tool_renew(self, card, book):
        if book not in self._state["loans"].get(card, {}) or book in self._state["renewed"]:
            return "Nothing to renew." + self._advance_if_done()
        self._state["renewed"].append(book)
        return "Renewed." + self._advance_if_done()

    def tool_decline_request(self, reason):
        if reason not in ("not offered", "not allowed") or self._current_msg < 1:
            return "There is nothing to decline." + self._advance_if_done()
        self._state["declined"].append(reason)
        return "Declined." + self._advance_if_done()

    def tool_opening_hours(self):
        return "10 to 19." + self._advance_if_done()

    def solution(self):
        return "\n".join([
            f'<tool_call>{{"name": "loans_of", "arguments": {{"card": "{self.card}"}}}}</tool_call>',
            f'<tool_call>{{"name": "renew", "arguments": {{"card": "{self.card}", "book": "{self.book}"}}}}</tool_call>',
            '<tool_call>{"name": "decline_request", "arguments": {"reason": "not offered"}}</tool_call>',
            "<answer>done</answer>",
        ])
