# expect: accepted
"""Shopping: put the right quantities into the cart, then apply the coupon that fits."""
import random

GOODS = {"apples": 2, "bread": 3, "cheese": 7, "dates": 5, "eggs": 4}


class CartEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "add_to_cart": {"description": "Add a quantity of a product.", "parameters": {"type": "object", "properties": {"product": {"type": "string", "enum": list(GOODS)}, "quantity": {"type": "integer"}}, "required": ["product", "quantity"]}},
            "show_cart": {"description": "What is in the cart.", "parameters": {"type": "object", "properties": {}}},
            "list_coupons": {"description": "Coupons and the least total each asks for.", "parameters": {"type": "object", "properties": {}}},
            "apply_coupon": {"description": "Apply a coupon.", "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self.want = {p: rng.randint(1, 9) for p in rng.sample(list(GOODS), 2)}
        total = sum(GOODS[p] * n for p, n in self.want.items())
        codes = [f"{w}{rng.randint(10, 99)}" for w in rng.sample(["SUN", "RAIN", "SNOW", "WIND"], 3)]
        self._state = {"cart": {}, "coupons": {codes[0]: total + 5, codes[1]: max(1, total - 3), codes[2]: 1}, "applied": None}
        self.code = codes[1]
        want, code = dict(self.want), self.code
        words = " and ".join(f"{n} {p}" for p, n in want.items())
        self._user_messages = [f"I need {words}.", "Apply the coupon with the highest least total that my cart reaches."]
        self._message_criteria = [lambda st: st["cart"] == want, lambda st: st["applied"] == code and st["cart"] == want]
        return self._user_messages[0], {}

    def tool_add_to_cart(self, product, quantity):
        if product not in GOODS or type(quantity) is not int or not -50 <= quantity <= 50:
            return "That cannot be added." + self._advance_if_done()
        amount = self._state["cart"].get(product, 0) + quantity
        self._state["cart"].pop(product, None)
        if amount > 0:
            self._state["cart"][product] = amount
        return "Done." + self._advance_if_done()

    def tool_show_cart(self):
        return (str(self._state["cart"]) if self._state["cart"] else "The cart is empty.") + self._advance_if_done()

    def tool_list_coupons(self):
        return ", ".join(f"{c} from {m}" for c, m in self._state["coupons"].items()) + self._advance_if_done()

    def tool_apply_coupon(self, code):
        total = sum(GOODS[p] * n for p, n in self._state["cart"].items())
        if self._state["coupons"].get(code, 10**9) > total:
            return "The coupon does not apply." + self._advance_if_done()
        self._state["applied"] = code
        return "Applied." + self._advance_if_done()

    def solution(self):
        calls = [{"name": "add_to_cart", "arguments": {"product": p, "quantity": n}} for p, n in self.want.items()]
        calls.append({"name": "apply_coupon", "arguments": {"code": self.code}})
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
