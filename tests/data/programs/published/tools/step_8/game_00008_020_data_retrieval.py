"""Game 20 of rollout 8: Data Retrieval."""
import random

class InvoiceTotalEnv(ToolUseBaseEnv):
  # two spaces all through; one question with one answer
  def __init__(self, max_turns=10, **kwargs):
    super().__init__(max_turns=max_turns)
    schema = lambda **properties: {"type": "object", "properties": properties, "required": list(properties)}
    self._tools = {
      "find_invoices": {"description": "Numbers of a customer's invoices.", "parameters": schema(customer={"type": "string"})},
      "read_invoice": {"description": "Lines of an invoice: price and count.", "parameters": schema(number={"type": "integer"})},
      "read_discount": {"description": "Per cent off for a customer.", "parameters": schema(customer={"type": "string"})},
      "read_weather": {"description": "The weather of a city.", "parameters": schema(city={"type": "string", "enum": ["Bergen", "Lyon"]})},
    }
    self.reset()

  def reset(self, seed=None):
    super().reset(seed=seed)
    rng = random.Random(seed)
    self._names = rng.sample(["Halden", "Ibarra", "Jansma", "Kovac"], 2)
    self._state = {"invoices": {}, "discount": {name: rng.choice([4, 8, 12, 15]) for name in self._names}}
    for number in rng.sample(range(1000, 9999), 4):
      owner = self._names[len(self._state["invoices"]) % 2]
      lines = [(rng.randint(300, 9000), rng.randint(1, 9)) for _ in range(2)]
      self._state["invoices"][number] = (owner, lines)
    name = self._names[0]
    cents = sum(p * c for owner, lines in self._state["invoices"].values() if owner == name for p, c in lines)
    self._expected_answer = f"${cents * (100 - self._state['discount'][name]) / 10000:,.2f}"
    return f"What do all invoices of {name} come to together, after the discount? Answer like <answer>$0.00</answer>.", {}

  def tool_find_invoices(self, customer):
    return ", ".join(str(n) for n, (owner, _) in self._state["invoices"].items() if owner == customer) or "None."

  def tool_read_invoice(self, number):
    if number not in self._state["invoices"]:
      return "There is no such invoice."
    return "; ".join(f"{c} at ${p / 100:.2f}" for p, c in self._state["invoices"][number][1])

  def tool_read_discount(self, customer):
    return f"{self._state['discount'].get(customer, 0)} per cent"

  def tool_read_weather(self, city):
    return {"Bergen": "Rain.", "Lyon": "Sun."}.get(city, "Unknown city.")

  def solution(self):
    name = self._names[0]
    owned = [n for n, (owner, _) in self._state["invoices"].items() if owner == name]
    calls = ['{"name": "find_invoices", "arguments": {"customer": "%s"}}' % name]
    calls += ['{"name": "read_invoice", "arguments": {"number": %d}}' % n for n in owned]
    calls += ['{"name": "read_discount", "arguments": {"customer": "%s"}}' % name]
    return "\n".join(f"<tool_call>{call}</tool_call>" for call in calls) + f"\n<answer>{self._expected_answer}</answer>"
