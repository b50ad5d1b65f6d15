"""A scripted engine for tool use: it writes the repository's good tool programs, hints at them, and serves clerks.

Some clerks do their task, one after a call that cannot be read; some claim to be done from the start; some talk until
they are cut off. Which one a play gets is the seed of its first turn; what a clerk does follows from the conversation.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.component.workers.scripted_engine import ScriptedEngine

from spade_contracts.engine_api import GenerateRequest
from spade_trainer.chat import spoken

FOLDER = Path(__file__).parents[2] / "data" / "canaries" / "tools" / "good"
PROGRAMS = tuple((FOLDER / f"{name}.py").read_text() for name in ("newsletter", "playlist_editor", "parking_permits"))
DONE = "<answer>done</answer>"
UNREADABLE = '<tool_call>\n{"name": "show", "arguments": {oops}}\n</tool_call>'
THOUGHT = f"<think>\nI could say {DONE} or {UNREADABLE} at once.\n</think>\n\n"
"""Nothing in it may be acted on."""


def _calls(*calls: tuple[str, Mapping[str, str]]) -> str:
    """Tool calls in one turn."""
    listed = (json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls)
    return "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in listed)


def _first_to_end(listed: str) -> tuple[str, str]:
    """The permit that runs out first, and its owner."""
    permits = re.findall(r"(Z\d+): (\w+), (\d+) days", listed)
    permit, owner, _ = min(permits, key=lambda one: int(one[2]))
    return permit, owner


MOVES: Mapping[str, Callable[[re.Match[str], str], str]] = {
    r"Take (\S+) off the list\.": lambda m, _: _calls(("count_readers", {}), ("unsubscribe", {"address": m[1]})),
    r"Send (\S+) the (\w+) edition": lambda m, _: _calls(("set_language", {"address": m[1], "language": m[2]})),
    r"Remove ([A-Z]\w+ \w+)\.": lambda m, _: _calls(("show", {}), ("remove", {"song": m[1]})),
    r"Add (\w+ \w+) right behind (\w+ \w+)\.": lambda m, _: _calls(("insert_after", {"song": m[1], "after": m[2]})),
    r"Extend the permit that runs out first\.": lambda m, _: _calls(("list_permits", {})),
    r"Z\d+: \w+, \d+ days": lambda m, seen: _calls(("extend_permit", {"permit": _first_to_end(seen)[0]})),
    r"Send the receipt to its owner\.": lambda m, seen: _calls(("send_receipt", {"person": _first_to_end(seen)[1]})),
    r"All steps complete\.": lambda m, _: DONE,
}
"""What was said last → what a clerk does about it, given all that was said."""


@dataclass
class ToolEngine(ScriptedEngine):
    """Designs, hints at and plays tool-use tasks."""

    thinks: bool = False

    def answer(self, request: GenerateRequest) -> str:
        prompt = self.chat.tokenizer.decode(list(request.token_ids), skip_special_tokens=False)
        if "one short hint" in prompt:
            return "Look first, then change."
        thought = THOUGHT if self.thinks else ""
        if "derives from ToolUseBaseEnv" in prompt:
            broken = request.seed % 4 == 0
            program = "class BrokenEnv(:\n" if broken else PROGRAMS[request.seed // 4 % len(PROGRAMS)]
            return f"{thought}```python\n{program}```"
        return f"{thought}{_turn(prompt, request.seed)}"


def _turn(prompt: str, seed: int) -> str:
    """What a clerk says aloud."""
    earlier = [
        spoken(turn.partition("<|im_end|>")[0]).strip() for turn in prompt.split("<|im_start|>assistant\n")[1:-1]
    ]
    if not earlier and seed % 5 == 0:
        return UNREADABLE
    if DONE in earlier or (not earlier and seed % 5 == 1):
        return DONE
    if not earlier and seed % 5 == 2 and "HINT" not in prompt:
        return "Let me see. " * 200
    found = [(move, match) for pattern, move in MOVES.items() for match in re.finditer(pattern, prompt)]
    move, latest = max(found, key=lambda one: one[1].start())
    return move(latest, prompt)
