"""M8 for tools that a program does not list: they can be called by name, and must not complete anything.

A method left over from a draft harms nobody, so only one that completes an instruction, or ends the task, is rejected.
It is aimed at nothing, so that another name of an honest tool does no harm either.
"""

import ast
import json

from spade_sandbox.verify.actions import NONSENSE
from spade_sandbox.verify.moves import Move
from spade_sandbox.verify.playing import begin, completes, make
from spade_sandbox.verify.solutions import DONE
from spade_sandbox.verify.trees import module_of
from spade_sandbox.verify.trial import Trial

MAX_UNLISTED = 8
PREFIX = "tool_"


async def completing_unlisted(trial: Trial, listed: frozenset[str]) -> Move | None:
    """The call of an unlisted tool that completes what it has nothing to do with, from the first seed."""
    for move in unlisted_calls(trial.program.source, listed):
        episode = await begin(trial, trial.program.seeds[0])
        before = await trial.inspect()
        await make(trial, episode, move)
        if completes(before, await trial.inspect()):
            return move
        if (await make(trial, episode, DONE)).won:
            return move
    return None


def unlisted_calls(source: str, listed: frozenset[str]) -> list[Move]:
    """Calls of methods `tool_…` that are not listed, each with a meaningless value for every argument that it needs."""
    found: dict[str, Move] = {}
    for node in ast.walk(module_of(source)):
        if not isinstance(node, ast.ClassDef):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name.startswith(PREFIX):
                name = method.name.removeprefix(PREFIX)
                if name and name not in listed:
                    found.setdefault(name, Move(name=name, arguments=json.dumps(_needed(method))))
    return list(found.values())[:MAX_UNLISTED]


def _needed(method: ast.FunctionDef) -> dict[str, str]:
    """A meaningless value for every parameter without a default."""
    placed = [*method.args.posonlyargs, *method.args.args][1:]
    needed = placed[: max(0, len(placed) - len(method.args.defaults))]
    named = [
        one for one, default in zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True) if default is None
    ]
    return {one.arg: NONSENSE for one in (*needed, *named)}
