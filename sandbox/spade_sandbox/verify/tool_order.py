"""The order controls of tool environments: steps that complete an instruction, and values that it names, are needed."""

from dataclasses import dataclass

from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.client import Inspection
from spade_sandbox.verify.actions import NONSENSE
from spade_sandbox.verify.checks import PASSED
from spade_sandbox.verify.moves import Episode, Move, Solved
from spade_sandbox.verify.playing import begin, completes, make, play, shown_by
from spade_sandbox.verify.tool_near_misses import failed, near_misses
from spade_sandbox.verify.trial import Trial

STAGE = Stage.ORDER
MAX_CALLS, MAX_WRONG = 4, 6


async def check_tool_order(trial: Trial, solved: Solved) -> Verdict | None:
    """M5, M6, M7 and M11 of a tool environment. Raises OutOfSteps."""
    program = trial.program
    seed = program.seeds[0]
    moves = solved.moves[seed]
    rejection = await _answers(trial, seed, moves)
    if rejection is not None:
        return rejection
    for step in (await _completing(trial, seed, moves))[:MAX_CALLS]:
        rejection = await _left_out(trial, seed, moves, step.position) or await _misdirected(trial, seed, moves, step)
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


@dataclass(frozen=True)
class _Completing:
    """A call of the solution that completes an instruction."""

    position: int
    instruction: str
    state: Inspection
    """Before it."""
    output: str


async def _completing(trial: Trial, seed: int, moves: tuple[Move, ...]) -> list[_Completing]:
    """Calls that complete an instruction."""
    episode = await begin(trial, seed)
    state = await trial.inspect()
    found: list[_Completing] = []
    for position, move in enumerate(moves):
        if not move.name:
            break
        outcome = await make(trial, episode, move)
        now = await trial.inspect()
        if now.instruction > state.instruction:
            said = state.instructions[state.instruction] if state.instructions else episode.opening
            found.append(_Completing(position, said, state, outcome.text))
        state = now
    return found


async def _left_out(trial: Trial, seed: int, moves: tuple[Move, ...], position: int) -> Verdict | None:
    """M5: without the call that completes an instruction nothing may be won."""
    episode = await play(trial, seed, (*moves[:position], *moves[position + 1 :]))
    if not episode.won:
        return None
    message = f"the solution wins without {moves[position]}, which completes an instruction"
    return await _rejection(trial, episode, Reason.WINS_TRUNCATED, message)


async def _misdirected(trial: Trial, seed: int, moves: tuple[Move, ...], step: _Completing) -> Verdict | None:
    """M7: neither a value that is wrong nor a call that fails completes the instruction and wins."""
    before = moves[: step.position]
    tool = next((tool for tool in await trial.tools() if tool.name == moves[step.position].name), None)
    held = " ".join(step.state.values.values())
    episode = None
    for near in near_misses(moves[step.position], tool, step.instruction, held)[:MAX_WRONG]:
        episode = episode or await play(trial, seed, before)
        outcome = await make(trial, episode, near.move)
        now = await trial.inspect()
        if now.values != step.state.values or now.instruction != step.state.instruction:
            episode = None
        if not completes(step.state, now):
            continue
        failing = outcome.failed or failed(outcome.text, step.output)
        if not (near.wrong or failing):
            continue
        whole = await play(trial, seed, (*before, near.move, *moves[step.position + 1 :]))
        if whole.won:
            how = ", although it fails," if failing else ""
            message = f"{near.move}{how} completes {step.instruction!r} like {moves[step.position]}"
            return await _rejection(trial, whole, Reason.WINS_WRONG_TARGET, message)
    return None


async def _rejection(trial: Trial, episode: Episode, reason: Reason, message: str) -> Verdict:
    return await shown_by(trial, episode, STAGE, reason, message)
