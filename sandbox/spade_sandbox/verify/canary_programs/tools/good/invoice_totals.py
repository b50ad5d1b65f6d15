# expect: accepted
"""Data retrieval: the sum of a customer's unpaid invoices, as the final answer."""
import random


class InvoiceEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=8, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "list_invoices": {"description": "Invoice numbers of a customer.", "parameters": {"type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]}},
            "get_invoice": {"description": "Amount and state of an invoice.", "parameters": {"type": "object", "properties": {"invoice": {"type": "integer"}}, "required": ["invoice"]}},
            "list_customers": {"description": "All customers.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        customers = rng.sample(["Aster", "Birch", "Cedar", "Dahlia", "Elder"], 3)
        numbers = rng.sample(range(10000, 99999), 9)
        self._state = {"invoices": {}}
        for place, number in enumerate(numbers):
            self._state["invoices"][number] = {"customer": customers[place % 3], "amount": rng.randint(100, 9000), "paid": place >= 6}
        self.customer = customers[0]
        due = [v for v in self._state["invoices"].values() if v["customer"] == self.customer and not v["paid"]]
        self._expected_answer = str(sum(v["amount"] for v in due))
        return f"What do the unpaid invoices of {self.customer} come to? Answer with a number.", {}

    def tool_list_invoices(self, customer):
        found = [str(n) for n, v in self._state["invoices"].items() if v["customer"] == customer]
        return ", ".join(found) or "none"

    def tool_get_invoice(self, invoice):
        known = self._state["invoices"].get(invoice)
        return "unknown" if known is None else f"{known['amount']}, {'paid' if known['paid'] else 'unpaid'}"

    def tool_list_customers(self):
        return ", ".join(sorted({v["customer"] for v in self._state["invoices"].values()}))

    def solution(self):
        mine = [n for n, v in self._state["invoices"].items() if v["customer"] == self.customer]
        lines = [f'<tool_call>{{"name": "get_invoice", "arguments": {{"invoice": {n}}}}}</tool_call>' for n in mine]
        return "\n".join([*lines, f"<answer>{self._expected_answer}</answer>"])
