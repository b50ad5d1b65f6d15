"""Small programs for tests, from the body of `step`."""

from pathlib import Path
from textwrap import indent

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"


def stepping(body: str, head: str = "") -> str:
    """A program that resets harmlessly and does `body` in each step."""
    return f"""{head}
class ProbeEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.turns = 0

    def reset(self, seed=None):
        self.turns = 0
        return f"seed {{seed}}", {{}}

    def step(self, action):
        self.turns += 1
{indent(body, "        ")}
        return f"turn {{self.turns}}", 0.0, False, False, {{}}
"""
