"""Stage `controls` for tool environments: nothing may complete an instruction but what the instruction asks for.

A criterion that holds at reset, and one that an unrelated tool completes, reject without appeal. A tool is unrelated
when the program's own solution never uses it, or when the call is aimed at nothing that exists and fails.
"""

from collections.abc import Callable, Coroutine
from itertools import cycle, islice, zip_longest
from random import Random

from spade_contracts.protocol import Criterion
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.client import Inspection, Tool
from spade_sandbox.verify import actions
from spade_sandbox.verify.arguments import drawn, meaningless, several
from spade_sandbox.verify.checks import NO_SOLUTION, PASSED, run_check
from spade_sandbox.verify.luck import random_play
from spade_sandbox.verify.moves import Episode, Move
from spade_sandbox.verify.playing import begin, earned, make, play, shown_by
from spade_sandbox.verify.solution import own_moves
from spade_sandbox.verify.solutions import DONE
from spade_sandbox.verify.trial import Trial
from spade_sandbox.verify.unlisted_tools import completing_unlisted

STAGE = Stage.CONTROLS
ToolCheck = Callable[[Trial], Coroutine[None, None, Verdict | None]]
RESETS = 4
MAX_TOOLS = 6
DRAWS = (3, 2)
"""Calls of each unrelated tool at an instruction, from the first seeds."""
MAX_TRIED = 12
"""Calls of unrelated tools at one instruction."""
SHORT, CALLS = 3, 8
LUCK_SEEDS = 4
RANDOM_EPISODES, MOST_RANDOM_EPISODES = 3, 6


async def check_untouched(trial: Trial) -> Verdict | None:
    """M0 and M1, in a session in which nothing was done."""
    return await _first_rejection(trial, UNTOUCHED)


async def check_tool_controls(trial: Trial) -> Verdict | None:
    """The other controls; None if nothing is free."""
    return await _first_rejection(trial, CONTROLS)


async def _first_rejection(trial: Trial, checks: tuple[tuple[str, ToolCheck], ...]) -> Verdict | None:
    for name, check in checks:
        rejection = await run_check(trial.program, name, check(trial))
        if rejection is not None:
            return rejection
    return None


async def _at_reset(trial: Trial) -> Verdict | None:
    """M0: no criterion holds, and no instruction counts as complete, before anything was done."""
    program = trial.program
    for seed in program.seeds[:RESETS]:
        await trial.reset(seed)
        state = await trial.inspect()
        held = [number for number, criterion in enumerate(state.criteria) if criterion is Criterion.TRUE]
        if held or state.instruction:
            what = f"criteria {held} hold" if held else f"{state.instruction} instructions count as complete"
            return program.rejection(STAGE, Reason.CRITERION_AT_RESET, f"{what} at reset(seed={seed})", trial.trace)
    return None


async def _nothing(trial: Trial) -> Verdict | None:
    """M1: texts that say nothing earn nothing."""
    program = trial.program
    for seed, turns in zip(program.seeds, (program.max_turns, SHORT), strict=False):
        blanks = actions.cycle_blanks(program.limits.action_characters)
        episode = await play(trial, seed, (Move(text) for text in islice(blanks, turns)))
        if episode.won or episode.paid:
            reason = Reason.WINS_AT_RESET if len(episode.moves) == 1 else Reason.WINS_BY_NULL
            return await _rejection(trial, episode, reason, "texts that say nothing")
    return None


async def _spoofs(trial: Trial) -> Verdict | None:
    """M11 and M12: what imitates success or breaks the format earns nothing, unless it is lucky once."""
    program = trial.program
    for text in actions.TOOL_SPOOFS:
        episode = await play(trial, program.seeds[0], [Move(text)])
        if episode.won and await _wins_from_all(trial, [Move(text)]):
            return await _rejection(trial, episode, Reason.WINS_BY_SPOOF, f"{text!r}")
    program.facts["M11"] = program.facts["M12"] = "passed"
    return None


async def _constants(trial: Trial) -> Verdict | None:
    """M3: no fixed answer is right from every seed."""
    for text in actions.TOOL_CONSTANTS:
        if await _wins_from_all(trial, [Move(text)]):
            episode = trial.program.episodes[-1]
            return await _rejection(trial, episode, Reason.WINS_BY_CONSTANT, f"{text!r}, from every seed,")
    return None


async def _replay(trial: Trial) -> Verdict | None:
    """M9: the solution's first call, repeated, completes at most the instruction it belongs to."""
    program = trial.program
    moves = own_moves(program, program.seeds[0])
    if not moves or not moves[0].name:
        program.facts["M9"] = NO_SOLUTION if not moves else "does not apply: the solution has no call"
        return None
    turns = min(CALLS, len(moves) + 1)
    episode = await play(trial, program.seeds[0], [*islice(cycle(moves[:1]), turns), DONE])
    state = await trial.inspect()
    if episode.won and len(state.criteria) > 1:
        return await _rejection(trial, episode, Reason.WINS_BY_REPLAY, f"{moves[0]}, repeated,")
    return None


async def _unrelated(trial: Trial) -> Verdict | None:
    """M8: at each instruction the tools that the solution never uses, and calls that fail, complete nothing."""
    program = trial.program
    listed = await trial.tools()
    tools = listed[:MAX_TOOLS]
    used = {move.name for seed in program.seeds for move in own_moves(program, seed) if move.name}
    unrelated = [tool for tool in tools if tool.name not in used] if used else []
    hidden = await completing_unlisted(trial, frozenset(tool.name for tool in listed))
    if hidden is not None:
        return _advanced(trial, 0, hidden)
    rejection = await _aimed_at_nothing(trial, tools)
    for seed, draws in zip(program.seeds, DRAWS, strict=False):
        rejection = rejection or await _tried_from(trial, seed, unrelated, draws)
    if rejection is not None:
        return rejection
    if not used:
        program.facts["M8"] = f"{PASSED} for calls aimed at nothing; no solution says which tools are unrelated"
    program.facts["unrelated_tools"] = float(len(unrelated))
    return None


async def _tried_from(trial: Trial, seed: int, tools: list[Tool], draws: int) -> Verdict | None:
    """Unrelated tools before the first call of the solution that belongs to each instruction."""
    if not tools:
        return None
    moves = tuple(move for move in own_moves(trial.program, seed) if move.name)
    rng = actions.repeatable(seed)
    episode = await begin(trial, seed)
    tried = -1
    for done in range(len(moves) + 1):
        state = await trial.inspect()
        if state.instruction != tried and state.instruction < len(state.instructions):
            tried = state.instruction
            rejection = await _tried(trial, episode, state, tools, draws, rng)
            if rejection is not None:
                return rejection
            if done < len(moves) and (await trial.inspect()).values != state.values:
                episode = await play(trial, seed, moves[:done])
        if done < len(moves):
            await make(trial, episode, moves[done])
    return None


async def _tried(  # noqa: PLR0917  # one caller
    trial: Trial, episode: Episode, state: Inspection, tools: list[Tool], draws: int, rng: Random
) -> Verdict | None:
    """These tools in turn with likely arguments, at most MAX_TRIED calls. `state` is that before them."""
    known = "\n".join((episode.opening, *(outcome.text for outcome in episode.outcomes)))
    instruction = state.instructions[state.instruction]
    calls = [
        [Move(name=tool.name, arguments=text) for text in several(tool, instruction, known, rng, draws)]
        for tool in tools
    ]
    in_turn = (move for moves in zip_longest(*calls) for move in moves if move is not None)
    for move in islice(in_turn, MAX_TRIED):
        await make(trial, episode, move)
        if (await trial.inspect()).instruction > state.instruction:
            return _advanced(trial, state.instruction, move)
    return None


async def _aimed_at_nothing(trial: Trial, tools: tuple[Tool, ...]) -> Verdict | None:
    """Any tool that takes arguments, called with meaningless ones, on an untouched state."""
    for tool in tools:
        arguments = meaningless(tool)
        if arguments is None:
            continue
        await trial.reset(trial.program.seeds[0])
        before = await trial.inspect()
        move = Move(name=tool.name, arguments=arguments)
        raised = (await trial.call(move.name, move.arguments)).returncode != 0
        after = await trial.inspect()
        if after.instruction > before.instruction and (raised or _untouched(before.values, after.values)):
            return _advanced(trial, before.instruction, move)
    return None


async def _random(trial: Trial) -> Verdict | None:
    """M2: random calls and a final `done` may succeed now and then."""

    async def at_random(seed: int, rng: Random) -> Episode:
        episode = await begin(trial, seed)
        tools = await trial.tools()
        known = episode.opening
        for _ in range(CALLS - 1):
            tool = rng.choice(tools)
            outcome = await make(trial, episode, Move(name=tool.name, arguments=drawn(tool, known, rng)))
            known = f"{known}\n{outcome.text}"[-4000:]
        await make(trial, episode, DONE)
        return episode

    lucky = await random_play(trial.program, RANDOM_EPISODES, MOST_RANDOM_EPISODES, at_random)
    return None if lucky is None else await _rejection(trial, lucky.last, Reason.WINS_BY_RANDOM, str(lucky))


async def _wins_from_all(trial: Trial, moves: list[Move]) -> bool:
    for seed in trial.program.seeds[:LUCK_SEEDS]:
        if not (await play(trial, seed, moves)).won:
            return False
    return True


def _untouched(before: dict[str, str], after: dict[str, str]) -> bool:
    """Whether a call left the state as it was, or only noted that it was made."""
    return all(after.get(name) == value or value in ("list[]", "set{}", "dict{}") for name, value in before.items())


def _advanced(trial: Trial, instruction: int, move: Move) -> Verdict:
    message = f"{move} completes instruction {instruction}, with which it has nothing to do"
    return trial.program.rejection(STAGE, Reason.ADVANCED_BY_UNRELATED_TOOL, message[:500], trial.trace)


async def _rejection(trial: Trial, episode: Episode, reason: Reason, what: str) -> Verdict:
    return await shown_by(trial, episode, STAGE, reason, earned(what, episode))


UNTOUCHED: tuple[tuple[str, ToolCheck], ...] = (("M0", _at_reset), ("M1", _nothing))
CONTROLS: tuple[tuple[str, ToolCheck], ...] = (
    ("M8", _unrelated),
    ("M12", _spoofs),
    ("M9", _replay),
    ("M3", _constants),
    ("M2", _random),
)
"""By their name in the verdict, cheap and decisive ones first."""
