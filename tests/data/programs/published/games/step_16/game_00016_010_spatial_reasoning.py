"""Game 10 of rollout 16: Spatial Reasoning."""
STEPS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}


class DarkHallEnv(Env):
    """A probe crosses a dark hall of 6 by 6 tiles to its dock; the field of heights is a numpy array."""

    def __init__(self, max_turns: int = 25, **kwargs: Any):
        super().__init__(max_turns=max_turns, **kwargs)
        self.hall = None
        self.reset()

    def reset(self, seed: Optional[int] = None):
        rng = np.random.default_rng(0 if seed is None else seed)
        size = 6
        self.heights = rng.integers(0, 9, size=(size, size))
        start, dock = rng.choice(size * size, size=2, replace=False)
        self.hall = Hall(tuple(int(v) for v in divmod(int(start), size)), tuple(int(v) for v in divmod(int(dock), size)))
        self.visits: Dict[Tuple[int, int], int] = Counter()
        self.turns = 0
        return (
            "You steer a probe in a dark hall of 6 by 6 tiles; row 0 is in the north. Somewhere is a dock. "
            "Commands: \\boxed{north}, \\boxed{south}, \\boxed{west}, \\boxed{east}, \\boxed{sense}, \\boxed{dock}."
        ), {"suffix": ""}

    def step(self, action):
        self.turns += 1
        truncated = bool(self.turns >= self.max_turns)
        found = re.findall(r"\\boxed\{\s*(\w+)\s*\}", action)
        command = found[0].lower() if len(found) == 1 else ""
        row, column = self.hall.here
        if command in STEPS:
            row, column = row + STEPS[command][0], column + STEPS[command][1]
            if not (0 <= row < 6 and 0 <= column < 6):
                return "A wall.", 0.0, False, truncated, {"wall": True}
            self.hall.here = (row, column)
            self.visits[self.hall.here] += 1
            return f"The floor here is {int(self.heights[row, column])} cm high.", 0.0, False, truncated, {}
        if command == "sense":
            distance = float(np.abs(np.array(self.hall.here) - np.array(self.hall.dock)).sum())
            return f"The dock hums {int(distance)} tiles away.", 0.0, False, truncated, {}
        if command == "dock":
            won = bool(np.array_equal(self.hall.here, self.hall.dock))
            return ("Docked." if won else "No dock here."), float(won), won, truncated and not won, {}
        return "The probe knows north, south, west, east, sense and dock.", 0.0, False, truncated, {}

    def solution(self):
        rows, columns = (there - here for here, there in zip(self.hall.here, self.hall.dock))
        way = ["south" if rows > 0 else "north"] * abs(rows) + ["east" if columns > 0 else "west"] * abs(columns)
        return "\n".join(f"\\boxed{{{command}}}" for command in [*way, "dock"])


@dataclass
class Hall:
    here: Tuple[int, int]
    dock: Tuple[int, int]


class TrainingHallEnv(DarkHallEnv):
    """The same hall for practice; not the environment, because it comes second."""

    def step(self, action):
        return "Practice is over.", 1.0, True, False, {}
