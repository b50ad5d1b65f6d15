"""What a scripted engine writes: programs of either domain, hints, and the turns of plays."""

import json
import random
from dataclasses import dataclass
from enum import StrEnum

from spade_contracts.config.environments import Domain


class Role(StrEnum):
    """What an answer is for."""

    PROGRAM = "program"
    HINT = "hint"
    PLAY = "play"
    HINTED_PLAY = "hinted play"


@dataclass(frozen=True)
class Request:
    """The place of an answer in the run."""

    rollout: int
    """Of a program or hint: the first of its cycle."""
    slot: int
    role: Role
    play: int | None = None
    turn: int = 0
    """Of a play; of a program or hint, the number of the try."""

    @property
    def hinted(self) -> bool:
        """Whether it is a turn of a hinted play."""
        return self.role is Role.HINTED_PLAY


GAME = """
class WordEnv(Env):
    def __init__(self, max_turns=4, **kwargs):
        super().__init__(max_turns=max_turns)
        self.plan = {plan}
        self.turn = 0

    def reset(self, seed=None):
        self.turn = 0
        return f"A plan of {{len(self.plan)}} numbers begins with {{self.plan[0]}}. Say the word.", {{}}

    def step(self, action):
        self.turn += 1
        return f"You said {{action}}.", float("win" in action), True, False, {{}}
"""
TASK = """
class RecordsEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=1, **kwargs):
        super().__init__(max_turns=max_turns)
        self.records = {plan}
        self._tools = {{
            "look_up": {{
                "description": "Read a record.",
                "parameters": {{"type": "object", "properties": {{"row": {{"type": "integer"}}}}, "required": ["row"]}},
            }}
        }}

    def reset(self, seed=None, **options):
        super().reset(seed)
        return f"There are {{len(self.records)}} records. Look one up, then say the word.", {{}}

    def tool_look_up(self, row):
        return f"Record {{row}} is {{self.records[row % len(self.records)]}}."

    def _check_answer(self, answer):
        read = [call for call in self._call_history if call["name"] == "look_up" and call["returncode"] == 0]
        return bool(read) and "win" in answer
"""
"""Nothing is won without a tool call that was executed, and one wrong answer is the last."""
NUMBERS = 60
"""Of a program's own numbers: so many that no two programs are alike for the gate."""


def answer_of(request: Request, domain: Domain, *, won: bool) -> str:
    """The text of an answer. No two plays of an environment say the same, so that no transcript wins every time."""
    if request.role is Role.PROGRAM:
        return f"```python\n{_program(request, domain)}```"
    if request.role is Role.HINT:
        return f"Say the word of slot {request.slot}."
    said = f"{'win' if won else 'lose'} {int(request.hinted)} {request.play}"
    if domain is Domain.GAMES:
        return f"\\boxed{{{said}}}"
    if request.turn == 0:
        call = {"name": "look_up", "arguments": {"row": request.play}}
        return f"<tool_call>\n{json.dumps(call)}\n</tool_call>"
    return f"<answer>{said}</answer>"


def _program(request: Request, domain: Domain) -> str:
    numbers = random.Random(f"{request.rollout}/{request.slot}")
    plan = [numbers.randrange(10_000) for _ in range(NUMBERS)]
    return (GAME if domain is Domain.GAMES else TASK).format(plan=plan).lstrip()
