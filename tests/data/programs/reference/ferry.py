class LedgerEnv(Env):
    """A crossing of a river, as the reference's designers write games: no imports, the base class found defined."""

    def __init__(self, max_turns=12, **kwargs):
        super().__init__()
        self.max_turns = max_turns
        self.kwargs = kwargs
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        self.turn = 0
        self.weights = [random.randint(2, 9) for _ in range(3)]
        self.limit = max(self.weights) + 1
        self.left = Counter(range(3))
        self.best: Dict[str, float] = defaultdict(float)
        return (
            f"Three crates stand on the left bank; the ferry carries {self.limit} kg. "
            "Commands: \\boxed{weigh N}, \\boxed{ferry N}."
        ), {"suffix": "The format is \\boxed{command N}."}

    def step(self, action):
        self.turn += 1
        found = re.search(r"\\boxed\{\s*(weigh|ferry)\s+([0-2])\s*\}", action)
        truncated = self.turn >= self.max_turns
        if not found:
            return "Commands: \\boxed{weigh N}, \\boxed{ferry N}, N from 0 to 2.", 0.0, False, truncated, {}
        verb, crate = found.group(1), int(found.group(2))
        if verb == "weigh":
            return f"Crate {crate} weighs {self.weights[crate]} kg.", 0.0, False, truncated, {}
        self.left.pop(crate, None)
        done = not self.left
        reward = 1.0 if done else round(1 - len(self.left) / 3, 2)
        return f"Left on this bank: {sorted(self.left)}.", reward, done, not done and truncated, {}

    def solution(self):
        return "\n".join(f"\\boxed{{ferry {n}}}" for n in sorted(self.left))

    def close(self):
        pass
