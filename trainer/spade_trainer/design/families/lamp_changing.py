"""Lamps in a ring change by the rule that each shows whether it differed from its neighbour."""

WORDS = ("OFF", "ON")


class LampChangingEnv(SingleTurn):
    def pose(self, draw, difficulty):
        most = 4 + 2 * difficulty
        wanted = draw.randrange(2)
        while True:
            self.lamps = [draw.randrange(2) for _ in range(draw.randint(most // 2 + 1, most))]
            self.time = draw.randint(max(2, most // 2), most)
            self.place = draw.randrange(len(self.lamps))
            if self.state() == wanted:
                break
        shown = ", ".join(f"{number} {WORDS[lamp]}" for number, lamp in enumerate(self.lamps, start=1))
        return (
            f"{len(self.lamps)} lamps stand in a ring, numbered clockwise from 1. Each second every lamp looks at the "
            "next one clockwise, all at once: where the two differ it is ON in the next second, and where they are "
            f"alike it is OFF. At second 0 they are: {shown}.\n"
            f"What is lamp {self.place + 1} at second {self.time}?"
        ), "ON or OFF"

    def state(self):
        """The asked lamp's state: all seconds are played."""
        lamps = self.lamps
        for _ in range(self.time):
            lamps = [lamp ^ following for lamp, following in zip(lamps, lamps[1:] + lamps[:1])]
        return lamps[self.place]

    def correct(self, text):
        return text.upper() == WORDS[self.state()]

    def answer(self):
        return WORDS[self.state()]
