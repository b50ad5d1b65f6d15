"""What every program goes through, played beforehand in the zygote with two programs of our own.

The interpreter writes to memory when it runs code for the first times: caches of types and attributes, specialised
instructions, lazily made objects. What the zygote has written is shared by all cells; what a cell writes is its own.
"""

import json
import os
import sys
from typing import Any

from spade_sandbox.pod.cell import MAX_ORDER_BYTES, serve
from spade_sandbox.pod.frames import FrameReader, write_frame
from spade_sandbox.pod.programs import loading

ROUNDS = 20
"""The interpreter specialises code after eight runs."""
_CHARACTERS = 1_000
_TURNS = 8
_GAME = '''
class RehearsalEnv:
    """Counts."""

    def __init__(self, max_turns: int = 8, **kwargs):
        self.max_turns = max_turns
        self.turns = 0
        self.seen = []
        self.goal = {"number": 3, "names": ["a", "b"]}

    def reset(self, seed=None):
        self.turns = 0
        self.rng = random.Random(seed)
        return f"Guess {self.rng.randint(1, 9)}.", {}

    def step(self, action):
        self.turns += 1
        found = re.search(r"\\\\boxed\\{(.*?)\\}", action)
        if found is None:
            return "Say a number.", -0.1, False, self.turns >= self.max_turns, {"turn": self.turns}
        self.seen.append(found.group(1))
        won = found.group(1).strip() == str(self.goal["number"])
        return f"turn {self.turns}", 1.0 if won else 0.0, won, self.turns >= self.max_turns, {}

    def solution(self):
        return "\\\\boxed{3}"
'''
_TOOL_PROGRAM = '''
class RehearsalToolEnv(ToolUseBaseEnv):
    """Answers."""

    def __init__(self, max_turns: int = 8, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {"look": {"description": "Look.", "parameters": {"type": "object", "properties": {}}}}
        self._expected_answer = "3"

    def reset(self, seed=None):
        super().reset(seed=seed)
        return "Find the number.", {}

    def tool_look(self):
        return "It is 3."
'''
_STEPS = ("nothing", r"\boxed{2}", '<tool_call>{"name": "look", "arguments": {}}</tool_call>', "<answer>3</answer>")
_ORDERS: tuple[dict[str, Any], ...] = (
    {"op": "reset", "seed": 1},
    *({"op": "step", "action": action} for action in _STEPS),
    {"op": "solution"},
    {"op": "inspect"},
)
_TOOL_ORDERS: tuple[dict[str, Any], ...] = ({"op": "tools"}, {"op": "call", "name": "look", "arguments": "{}"})


def rehearse(rounds: int = ROUNDS) -> None:
    """Open and play both programs in the loop that serves cells; what they did is forgotten."""
    for _ in range(rounds):
        _play(_GAME, _ORDERS)
        _play(_TOOL_PROGRAM, (*_ORDERS, *_TOOL_ORDERS))
    sys.modules.pop(loading.MODULE_NAME, None)


def _play(source: str, orders: tuple[dict[str, Any], ...]) -> None:
    """All of it lies in a pipe, which holds more, before it is read; the answers go nowhere."""
    reading, writing = os.pipe()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number, order in enumerate(({"op": "open", "source": source, "max_turns": _TURNS}, *orders)):
            write_frame(writing, json.dumps({"id": number, **order}).encode())
        os.close(writing)
        serve(FrameReader(reading, MAX_ORDER_BYTES), nowhere, _CHARACTERS)
    finally:
        os.close(reading)
        os.close(nowhere)
