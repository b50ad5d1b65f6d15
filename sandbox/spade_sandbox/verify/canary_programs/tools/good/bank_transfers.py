# expect: accepted
"""Banking: transfer an exact amount between the right accounts, then freeze the emptied card."""
import random


class BankEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        s, i = {"type": "string"}, {"type": "integer"}
        self._tools = {
            "balance": {"description": "Balance of an account.", "parameters": {"type": "object", "properties": {"account": s}, "required": ["account"]}},
            "transfer": {"description": "Move money.", "parameters": {"type": "object", "properties": {"source": s, "target": s, "amount": i}, "required": ["source", "target", "amount"]}},
            "freeze_card": {"description": "Freeze the card of an account.", "parameters": {"type": "object", "properties": {"account": s}, "required": ["account"]}},
            "exchange_rate": {"description": "Rate of a currency.", "parameters": {"type": "object", "properties": {"currency": {"type": "string", "enum": ["EUR", "USD"]}}, "required": ["currency"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.a, self.b, self.c = (f"ACC-{n}" for n in rng.sample(range(100, 999), 3))
        self.amount = rng.randint(40, 400)
        self._state = {"money": {self.a: self.amount + rng.randint(1, 50), self.b: rng.randint(0, 99), self.c: rng.randint(0, 99)}, "frozen": []}
        wanted = {**self._state["money"], self.a: self._state["money"][self.a] - self.amount, self.b: self._state["money"][self.b] + self.amount}
        a = self.a
        self._user_messages = [f"Move {self.amount} from {self.a} to {self.b}.", f"Now freeze the card of {self.a}."]
        self._message_criteria = [lambda st: st["money"] == wanted, lambda st: st["frozen"] == [a]]
        return self._user_messages[0], {}

    def tool_balance(self, account):
        money = self._state["money"].get(account)
        return ("Unknown account." if money is None else f"{account} holds {money}.") + self._advance_if_done()

    def tool_transfer(self, source, target, amount):
        money = self._state["money"]
        if source not in money or target not in money or source == target or type(amount) is not int or not 0 < amount <= money[source]:
            return "The bank declines." + self._advance_if_done()
        money[source] -= amount
        money[target] += amount
        return f"{amount} moved." + self._advance_if_done()

    def tool_freeze_card(self, account):
        if account not in self._state["money"] or account in self._state["frozen"]:
            return "No card to freeze." + self._advance_if_done()
        self._state["frozen"].append(account)
        return "Frozen." + self._advance_if_done()

    def tool_exchange_rate(self, currency):
        return {"EUR": "1.17", "USD": "1.29"}.get(currency, "Unknown currency.") + self._advance_if_done()

    def solution(self):
        calls = [{"name": "transfer", "arguments": {"source": self.a, "target": self.b, "amount": self.amount}}, {"name": "freeze_card", "arguments": {"account": self.a}}]
        return "\n".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls) + "\n<answer>done</answer>"
