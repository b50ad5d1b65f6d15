# expect: order
"""Every completed instruction, not only the present one, moves to the end of the list."""
import random


class SkipEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "pack_item": {"description": "Pack an item.", "parameters": {"type": "object", "properties": {"item": s}, "required": ["item"]}},
            "seal_box": {"description": "Seal the box with a seal of a colour.", "parameters": {"type": "object", "properties": {"colour": {"type": "string", "enum": ["red", "blue", "green"]}}, "required": ["colour"]}},
            "print_label": {"description": "Print the label for a city.", "parameters": {"type": "object", "properties": {"city": s}, "required": ["city"]}},
            "stock": {"description": "What can be packed.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.item = rng.choice(["vase", "clock", "mirror", "violin"])
        self.colour = rng.choice(["red", "blue", "green"])
        self.city = rng.choice(["Turin", "Malmo", "Porto", "Graz"])
        self._state = {"packed": [], "seal": None, "label": None}
        item, colour, city = self.item, self.colour, self.city
        self._user_messages = [f"Pack the {item}.", f"Seal the box in {colour}.", f"Print a label for {city}."]
        self._message_criteria = [
            lambda st: st["packed"] == [item],
            lambda st: st["seal"] == colour,
            lambda st: st["label"] == city,
        ]
        return self._user_messages[0], {}

    def _advance_if_done(self):
        for place, criterion in enumerate(self._message_criteria):
            if criterion(self._state):
                self._current_msg = max(self._current_msg, place + 1)
        if self._current_msg >= len(self._message_criteria):
            return " [All steps complete. Submit done.]"
        return f" [Step] {self._user_messages[self._current_msg]}"

    def tool_pack_item(self, item):
        self._state["packed"].append(str(item)[:40])
        return "Packed." + self._advance_if_done()

    def tool_seal_box(self, colour):
        self._state["seal"] = colour if colour in ("red", "blue", "green") else None
        return "Sealed." + self._advance_if_done()

    def tool_print_label(self, city):
        self._state["label"] = str(city)[:40]
        return "Printed." + self._advance_if_done()

    def tool_stock(self):
        return "vase, clock, mirror, violin." + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "pack_item", "arguments": {"item": self.item}},
            {"name": "seal_box", "arguments": {"colour": self.colour}},
            {"name": "print_label", "arguments": {"city": self.city}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
