# expect: accepted
"""A town hall: extend the permit that runs out first, and send its owner the receipt."""
import random


class PermitsEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "list_permits": {"description": "Permits with owner and days left.", "parameters": {"type": "object", "properties": {}}},
            "extend_permit": {"description": "Extend a permit by a year.", "parameters": {"type": "object", "properties": {"permit": s}, "required": ["permit"]}},
            "send_receipt": {"description": "Send a receipt to a person.", "parameters": {"type": "object", "properties": {"person": s}, "required": ["person"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        ids = [f"Z{n}" for n in rng.sample(range(1000, 9999), 4)]
        owners = rng.sample(["Abel", "Bronte", "Cosmo", "Dinah", "Enzo", "Flora"], 4)
        days = rng.sample(range(1, 90), 4)
        self._state = {"permits": {i: {"owner": o, "days": d} for i, o, d in zip(ids, owners, days)}, "extended": [], "receipts": []}
        self.permit = ids[days.index(min(days))]
        self.owner = self._state["permits"][self.permit]["owner"]
        permit, owner = self.permit, self.owner
        self._user_messages = ["Extend the permit that runs out first.", "Send the receipt to its owner."]
        self._message_criteria = [lambda st: st["extended"] == [permit], lambda st: st["receipts"] == [owner]]
        return self._user_messages[0], {}

    def tool_list_permits(self):
        return "; ".join(f"{i}: {p['owner']}, {p['days']} days" for i, p in self._state["permits"].items()) + self._advance_if_done()

    def tool_extend_permit(self, permit):
        if permit not in self._state["permits"] or permit in self._state["extended"]:
            return "Not extended." + self._advance_if_done()
        self._state["extended"].append(permit)
        return "Extended." + self._advance_if_done()

    def tool_send_receipt(self, person):
        if person not in [p["owner"] for p in self._state["permits"].values()] or not self._state["extended"]:
            return "There is nothing to send." + self._advance_if_done()
        self._state["receipts"].append(person)
        return "Sent." + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "list_permits", "arguments": {}},
            {"name": "extend_permit", "arguments": {"permit": self.permit}},
            {"name": "send_receipt", "arguments": {"person": self.owner}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
