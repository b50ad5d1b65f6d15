"""The order controls of tool environments: steps that complete an instruction, and values that it names, are needed."""

import json
import re
from typing import Any

from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.client import Tool
from spade_sandbox.verify.actions import FAR_NUMBER, NONSENSE
from spade_sandbox.verify.checks import PASSED
from spade_sandbox.verify.moves import Episode, Move, Solved
from spade_sandbox.verify.playing import begin, demonstrated, make, play
from spade_sandbox.verify.trial import Trial

STAGE = Stage.ORDER
MAX_CALLS, MAX_WRONG = 4, 3


async def check_tool_order(trial: Trial, solved: Solved) -> Verdict | None:
    """M5, M6, M7 and M11 of a tool environment. Raises OutOfSteps."""
    program = trial.program
    seed = program.seeds[0]
    moves = solved.moves[seed]
    rejection = await _answers(trial, seed, moves)
    if rejection is not None:
        return rejection
    completing, openings = await _completing(trial, seed, moves)
    for position in completing[:MAX_CALLS]:
        rejection = await _left_out(trial, seed, moves, position) or await _misdirected(
            trial, seed, moves, position, openings[position]
        )
        if rejection is not None:
            return rejection
    program.facts["M5"] = program.facts["M7"] = PASSED
    calls = tuple(move for move in moves if move.name)
    if len(set(calls)) > 1:
        won = (await play(trial, seed, (*calls[::-1], *moves[len(calls) :]))).won
        program.facts["order_free"] = float(won)
        program.facts["M6"] = (
            f"{PASSED}: another order wins too, and instructions come one at a time" if won else PASSED
        )
    else:
        program.facts["M6"] = "does not apply: the solution has one order"
    return None


async def _answers(trial: Trial, seed: int, moves: tuple[Move, ...]) -> Verdict | None:
    """M7 and M11: another final answer, and the right one among others."""
    wrong = f"<answer>{NONSENSE}</answer>"
    right = moves[-1].action
    for text, reason in ((wrong, Reason.WINS_WRONG_TARGET), (wrong + right + wrong, Reason.WINS_BY_MALFORMED)):
        episode = await play(trial, seed, (*moves[:-1], Move(text)))
        if episode.won:
            return await _rejection(trial, episode, reason, f"the final answer {text!r} wins like {right!r}")
    return None


async def _completing(trial: Trial, seed: int, moves: tuple[Move, ...]) -> tuple[list[int], dict[int, str]]:
    """Calls that complete an instruction, and the instruction that was open before each."""
    episode = await begin(trial, seed)
    state = await trial.inspect()
    found: list[int] = []
    said: dict[int, str] = {}
    for position, move in enumerate(moves):
        if not move.name:
            break
        await make(trial, episode, move)
        now = await trial.inspect()
        if now.instruction > state.instruction:
            found.append(position)
            said[position] = state.instructions[state.instruction] if state.instructions else episode.opening
        state = now
    return found, said


async def _left_out(trial: Trial, seed: int, moves: tuple[Move, ...], position: int) -> Verdict | None:
    """M5: without the call that completes an instruction nothing may be won."""
    episode = await play(trial, seed, (*moves[:position], *moves[position + 1 :]))
    if not episode.won:
        return None
    message = f"the solution wins without {moves[position]}, which completes an instruction"
    return await _rejection(trial, episode, Reason.WINS_TRUNCATED, message)


async def _misdirected(
    trial: Trial, seed: int, moves: tuple[Move, ...], position: int, instruction: str
) -> Verdict | None:
    """M7: a value that the instruction names, replaced by another, must not complete it."""
    await trial.reset(seed)
    tool = next((tool for tool in await trial.tools() if tool.name == moves[position].name), None)
    held = " ".join((await trial.inspect()).values.values())
    for wrong in wrong_calls(moves[position], tool, instruction, held):
        episode = await play(trial, seed, (*moves[:position], wrong, *moves[position + 1 :]))
        if episode.won:
            message = f"{wrong} completes {instruction!r} like {moves[position]}"
            return await _rejection(trial, episode, Reason.WINS_WRONG_TARGET, message)
    return None


def wrong_calls(move: Move, tool: Tool | None, instruction: str, held: str) -> list[Move]:
    """The call with one value replaced, for values that the instruction names.

    Replaced by another option of the schema, another value like it in the state (`held`), or one without meaning.
    """
    arguments: dict[str, Any] = json.loads(move.arguments)
    properties = tool.parameters.get("properties") if tool is not None else None
    schemas = properties if isinstance(properties, dict) else {}
    wrong = []
    for name, value in arguments.items():
        plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        if not plain or str(value).lower() not in instruction.lower():
            continue
        schema = schemas.get(name)
        options = schema.get("enum") if isinstance(schema, dict) else None
        others: list[Any] = [option for option in options if option != value] if isinstance(options, list) else []
        if not others:
            others = [*_alike(value, held)[:1], NONSENSE if isinstance(value, str) else FAR_NUMBER]
        wrong += [
            Move(name=move.name, arguments=json.dumps({**arguments, name: other}, ensure_ascii=False))
            for other in others[:2]
        ]
    return wrong[:MAX_WRONG]


def _alike(value: Any, held: str) -> list[Any]:
    """Other values in a text that look like this one: same letters' places and number of digits, or a quoted word."""
    if not isinstance(value, str):
        found = [int(text) for text in re.findall(r"\b\d+\b", held)[:100] if len(text) == len(str(value))]
        return [other for other in dict.fromkeys(found) if other != value]
    shape = re.sub(r"\d", r"\\d", re.escape(value))
    quoted = re.findall(r"'([^']{2,60})'", held) if shape == re.escape(value) else re.findall(rf"\b{shape}\b", held)
    return [other for other in dict.fromkeys(quoted) if other != value]


async def _rejection(trial: Trial, episode: Episode, reason: Reason, message: str) -> Verdict:
    evidence = await demonstrated(trial.program, trial, episode)
    return trial.program.rejection(STAGE, reason, message[:500], evidence)
