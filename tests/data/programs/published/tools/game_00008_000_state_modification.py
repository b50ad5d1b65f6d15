"""Game 0 of rollout 8: State Modification."""
class LibraryLoanEnv(ToolUseBaseEnv):
    """A lending library: prolong, hand back and put by, one instruction after another."""

    def __init__(self, max_turns: int = 10, **kwargs):
        super().__init__(max_turns=max_turns, **kwargs)
        self.reset()

    def reset(self, seed: Optional[int] = None) -> Tuple[str, Dict[str, Any]]:
        super().reset(seed=seed)
        rng = random.Random(seed if seed is not None else 0)
        titles = rng.sample(["Marsh Birds", "Cold Harbours", "Bread at Home", "The Long Ditch", "Nine Lanterns"], 3)
        readers = rng.sample(["r-ada", "r-bo", "r-cem", "r-dag"], 2)
        days = rng.sample(range(2, 28), 3)
        self._state = {
            "loans": {t: {"reader": readers[0], "days": d, "back": False} for t, d in zip(titles, days)},
            "put_by": {},
            "looked_up": [],
        }
        self._reader, self._next_reader = readers
        self._soonest = min(titles, key=lambda t: self._state["loans"][t]["days"])
        soonest, reader, following = self._soonest, *readers
        due = self._state["loans"][soonest]["days"]

        self._tools = {
            "list_loans": {
                "description": "Loans of a reader with the days that are left.",
                "parameters": {"type": "object", "properties": {"reader": {"type": "string"}}, "required": ["reader"]},
            },
            "prolong": {
                "description": "Give a loan more days.",
                "parameters": {
                    "type": "object",
                    "properties": {"title": {"type": "string"}, "days": {"type": "integer", "enum": [7, 14, 21]}},
                    "required": ["title", "days"],
                },
            },
            "hand_back": {
                "description": "Take a book back.",
                "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
            },
            "put_by": {
                "description": "Put a book by for a reader, once it is back.",
                "parameters": {
                    "type": "object",
                    "properties": {"title": {"type": "string"}, "reader": {"type": "string"}},
                    "required": ["title", "reader"],
                },
            },
            "opening_hours": {"description": "When the library is open.", "parameters": {"type": "object", "properties": {}}},
        }
        self._user_messages = [
            f"What does {reader} have on loan? Please look it up.",
            "Prolong the book that is due soonest by 14 days.",
            "It has been brought back after all: book it in.",
            f"And put it by for {following}.",
        ]
        self._message_criteria = [
            lambda s: reader in s["looked_up"],
            lambda s: s["loans"][soonest]["days"] == due + 14,
            lambda s: s["loans"][soonest]["back"],
            lambda s: s["put_by"] == {soonest: following},
        ]
        self._current_msg = 0
        return f"[Step 1/{len(self._user_messages)}] {self._user_messages[0]}", {}

    def _advance_if_done(self) -> str:
        if self._current_msg >= len(self._user_messages):
            return ""
        if not self._message_criteria[self._current_msg](self._state):
            return ""
        self._current_msg += 1
        if self._current_msg >= len(self._user_messages):
            return "\n\n[ALL STEPS COMPLETE] Submit <answer>done</answer>."
        return f"\n\n[Step {self._current_msg + 1}/{len(self._user_messages)}] {self._user_messages[self._current_msg]}"

    def tool_list_loans(self, reader: str) -> str:
        found = {t: loan["days"] for t, loan in self._state["loans"].items() if loan["reader"] == reader and not loan["back"]}
        if not found:
            return "No loans." + self._advance_if_done()
        if reader not in self._state["looked_up"]:
            self._state["looked_up"].append(reader)
        return json.dumps(found) + self._advance_if_done()

    def tool_prolong(self, title: str, days: int) -> str:
        loan = self._state["loans"].get(title)
        if loan is None or loan["back"] or days not in (7, 14, 21):
            return "Error: it cannot be prolonged." + self._advance_if_done()
        loan["days"] += days
        return f"{title} is due in {loan['days']} days." + self._advance_if_done()

    def tool_hand_back(self, title: str) -> str:
        loan = self._state["loans"].get(title)
        if loan is None or loan["back"]:
            return "Error: it is not out." + self._advance_if_done()
        loan["back"] = True
        return f"{title} is back." + self._advance_if_done()

    def tool_put_by(self, title: str, reader: str) -> str:
        loan = self._state["loans"].get(title)
        if loan is None or not loan["back"] or title in self._state["put_by"]:
            return "Error: only books that are in can be put by." + self._advance_if_done()
        self._state["put_by"][title] = reader
        return f"{title} waits for {reader}." + self._advance_if_done()

    def tool_opening_hours(self) -> str:
        return "Tuesday to Saturday, 10 to 18." + self._advance_if_done()

    def _check_answer(self, answer: str) -> bool:
        return answer.strip().lower() == "done" and self._current_msg >= len(self._user_messages)

    def solution(self) -> str:
        calls = [
            {"name": "list_loans", "arguments": {"reader": self._reader}},
            {"name": "prolong", "arguments": {"title": self._soonest, "days": 14}},
            {"name": "hand_back", "arguments": {"title": self._soonest}},
            {"name": "put_by", "arguments": {"title": self._soonest, "reader": self._next_reader}},
        ]
        return "\n".join(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls) + "\n<answer>done</answer>"
