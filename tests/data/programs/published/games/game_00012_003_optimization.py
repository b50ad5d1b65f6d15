"""Game 3 of rollout 12: Optimization."""
class WarehouseLoadingEnv(Env):
    """
    A truck leaves only when it is loaded to the kilogram. Crates have to be weighed to be known.

    Actions:
      \\boxed{weigh X}, \\boxed{load X}, \\boxed{unload X}, \\boxed{depart}
    """

    NAMES = "ABCDEF"

    def __init__(self, max_turns=14, **kwargs):
        super().__init__()
        self.max_turns = max_turns
        self.crates = {}
        self.capacity = 0
        self.loaded = []
        self.plan = []
        self.turn_count = 0
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        if seed is not None:
            random.seed(seed)
        weights = random.sample(range(11, 90), len(self.NAMES))
        self.crates = {name: Crate(name, weight) for name, weight in zip(self.NAMES, weights)}
        self.plan = random.sample(self.NAMES, 3)
        self.capacity = sum(self.crates[name].weight for name in self.plan)
        self.loaded = []
        self.turn_count = 0
        return self._instructions(), {"suffix": self._suffix(), "capacity": self.capacity}

    def _instructions(self) -> str:
        return (
            f"The truck must carry exactly {self.capacity} kg. There are crates {', '.join(self.NAMES)}, "
            f"and no labels on them.\n{self._suffix()}"
        )

    def _suffix(self) -> str:
        return "Answer with \\boxed{weigh X}, \\boxed{load X}, \\boxed{unload X} or \\boxed{depart}."

    def step(self, action: str):
        self.turn_count += 1
        out_of_time = self.turn_count >= self.max_turns
        match = re.search(r"\\boxed\{\s*(weigh|load|unload|depart)\s*([A-F]?)\s*\}", action)
        if not match or (match.group(1) == "depart") == bool(match.group(2)):
            return f"Not a command. {self._suffix()}", 0.0, False, out_of_time, {"suffix": self._suffix()}

        verb, name = match.groups()
        if verb == "weigh":
            obs = f"Crate {name} weighs {self.crates[name].weight} kg."
        elif verb == "load" and name not in self.loaded:
            self.loaded.append(name)
            obs = f"Crate {name} is on the truck, which holds {len(self.loaded)} crate(s)."
        elif verb == "unload" and name in self.loaded:
            self.loaded.remove(name)
            obs = f"Crate {name} is back on the floor."
        elif verb == "depart":
            total = sum(self.crates[one].weight for one in self.loaded)
            if total == self.capacity:
                return "The barrier opens. Well packed!", 1.0, True, False, {"suffix": ""}
            obs = "Too heavy." if total > self.capacity else "Too light."
        else:
            obs = "That crate is not there."
        return f"{obs}\n{self._suffix()}", 0.0, False, out_of_time, {"suffix": self._suffix()}

    def solution(self) -> str:
        return "\n".join([f"\\boxed{{load {name}}}" for name in self.plan] + ["\\boxed{depart}"])

    def close(self):
        pass


@dataclass
class Crate:
    name: str
    weight: int
