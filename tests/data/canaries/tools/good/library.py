# expect: accepted
"""Library desk: find a copy, lend it if it is in, else place a hold; then answer."""
import json, random
BOOKS = ["Dunes", "Harvest", "Polar Night", "Cinders", "Riverbed", "Ashlar"]
MEMBERS = ["Ilse", "Omar", "Petra", "Quinn"]
class LibraryDeskEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "search": {"description": "Copies of a book.", "parameters": {"type": "object", "properties": {"title": s}, "required": ["title"]}},
            "lend": {"description": "Lend a copy to a member.", "parameters": {"type": "object", "properties": {"copy": s, "member": s}, "required": ["copy", "member"]}},
            "hold": {"description": "Put a member on the waiting list of a book.", "parameters": {"type": "object", "properties": {"title": s, "member": s}, "required": ["title", "member"]}},
            "fines": {"description": "Open fines of a member.", "parameters": {"type": "object", "properties": {"member": s}, "required": ["member"]}},
        }
        self.reset()
    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        books = rng.sample(BOOKS, 4)
        nums = rng.sample(range(100, 999), 4)
        self._state = {"copies": {f"C{n}": {"title": b, "to": None} for n, b in zip(nums, books)}, "holds": [], "asked": [], "fines": {m: rng.randint(1, 40) for m in MEMBERS}}
        out = f"C{nums[1]}"
        self._state["copies"][out]["to"] = MEMBERS[3]
        m1, m2 = rng.sample(MEMBERS[:3], 2)
        self.want = (f"C{nums[0]}", books[0], books[1], m1, m2)
        copy, first, second, _, _ = self.want
        self._user_messages = [
            f"{m1} wants to borrow '{first}'.",
            f"{m2} wants '{second}'; if no copy is in, put {m2} on its waiting list, else lend it.",
            f"Look up the open fines of {m1}.",
        ]
        self._message_criteria = [
            lambda s: [c for c, d in s["copies"].items() if d["to"] == m1] == [copy],
            lambda s: s["holds"] == [[second, m2]],
            lambda s: s["asked"][-1:] == [m1],
        ]
        return self._user_messages[0], {}
    def tool_search(self, title):
        found = [f"{c} ({'in' if d['to'] is None else 'out'})" for c, d in self._state["copies"].items() if d["title"] == title]
        return (", ".join(found) or "No copies.") + self._advance_if_done()
    def tool_lend(self, copy, member):
        d = self._state["copies"].get(copy) if isinstance(copy, str) else None
        if d is None or d["to"] is not None or member not in MEMBERS:
            return "Not lent." + self._advance_if_done()
        d["to"] = member
        return "Lent." + self._advance_if_done()
    def tool_hold(self, title, member):
        if title not in BOOKS or member not in MEMBERS:
            return "Not possible." + self._advance_if_done()
        self._state["holds"].append([title, member])
        return "On the list." + self._advance_if_done()
    def tool_fines(self, member):
        if member not in MEMBERS:
            return "Unknown member." + self._advance_if_done()
        self._state["asked"].append(member)
        return f"{self._state['fines'][member]} crowns." + self._advance_if_done()
    def solution(self):
        copy, first, second, m1, m2 = self.want
        calls = [("search", {"title": first}), ("lend", {"copy": copy, "member": m1}), ("search", {"title": second}), ("hold", {"title": second, "member": m2}), ("fines", {"member": m1})]
        return "\n".join("<tool_call>" + json.dumps({"name": n, "arguments": a}) + "</tool_call>" for n, a in calls) + "\n<answer>done</answer>"
