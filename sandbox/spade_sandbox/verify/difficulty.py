"""Stage `difficulty`: an estimate before plays are spent (design §10).

From the controls: how often unskilled play wins, and how short a win can be. With a probe policy: the mean return of a
few episodes (method.md §5.1), between bounds if the settings draw any. It is an estimate from few episodes: with four
probes its standard error is up to 0.25, so narrow bounds reject by chance.
"""

from collections.abc import Awaitable, Callable, Sequence

from spade_contracts.config.environments import Domain
from spade_contracts.tool_calls import ToolCallParsing, final_answer, parse_tool_calls
from spade_contracts.verdicts import Reason, Stage, Trace, Verdict
from spade_sandbox.client import Tool
from spade_sandbox.verify.moves import Episode, Move
from spade_sandbox.verify.playing import begin, make
from spade_sandbox.verify.trial import OutOfSteps, OutOfTime, Program, Trial

STAGE = Stage.DIFFICULTY
ProbePolicy = Callable[[Sequence[str], Sequence[Tool]], Awaitable[str]]
"""From the conversation so far (observation, action, observation, …) and the tools (none in games) to the next action:
in games what `step` gets, in tool environments the player's text."""


async def check_difficulty(program: Program, policy: ProbePolicy | None) -> Verdict | None:
    """None if the estimate lies within the bounds, or there is none. Raises what the policy raises."""
    wins = [len(episode.moves) for episode in program.episodes if episode.won]
    if wins:
        program.facts["shortest_win"] = float(min(wins))
    if policy is None:
        program.facts["difficulty"] = "no probe policy"
        return None
    settings = program.settings.difficulty
    episodes: list[Episode] = []
    evidence: list[Trace] = []
    try:
        for number in range(settings.probes):
            async with program.session(f"probe {number + 1}") as trial:
                seed = program.seeds[number % len(program.seeds)] + number // len(program.seeds)
                episodes.append(await _probe(trial, seed, policy))
            evidence.append(trial.trace)
    except (OutOfSteps, OutOfTime):
        program.facts["difficulty"] = f"the battery's cost bound ended the probes after {len(episodes)}"
    if not episodes:
        return None
    mean = sum(map(episode_return, episodes)) / len(episodes)
    program.facts["probe_return"] = round(mean, 4)
    program.facts["probes"] = float(len(episodes))
    if mean > settings.max_return:
        message = f"probes return {mean:.2f} on average; at most {settings.max_return:g} is asked for"
        return program.rejection(STAGE, Reason.TOO_EASY, message, *evidence)
    if mean < settings.min_return:
        message = f"probes return {mean:.2f} on average; at least {settings.min_return:g} is asked for"
        return program.rejection(STAGE, Reason.TOO_HARD, message, *evidence)
    return None


def episode_return(episode: Episode) -> float:
    """The last reward if the episode terminated, clipped to [-1, 1]; otherwise 0 (method.md §5.1)."""
    last = episode.outcomes[-1] if episode.outcomes else None
    return min(1.0, max(-1.0, last.reward)) if last is not None and last.terminated else 0.0


def moves_in(text: str, domain: Domain) -> tuple[Move, ...]:
    """What a reply does: in tool environments its calls, unless it answers or calls nothing (method.md §1.7)."""
    if domain is Domain.TOOLS and final_answer(text) is None:
        calls = parse_tool_calls(text, ToolCallParsing.STRICT)
        if calls:
            return tuple(Move(name=call.name, arguments=call.arguments) for call in calls)
    return (Move(text),)


async def _probe(trial: Trial, seed: int, policy: ProbePolicy) -> Episode:
    """One episode by the policy, of at most the turns that play allows."""
    program = trial.program
    episode = await begin(trial, seed)
    tools = await trial.tools() if program.domain is Domain.TOOLS else ()
    conversation = [episode.opening]
    for _ in range(program.max_turns):
        reply = await policy(tuple(conversation), tools)
        outcomes = [await make(trial, episode, move) for move in moves_in(reply, program.domain)]
        conversation += [reply, "\n".join(outcome.text for outcome in outcomes)]
        if outcomes[-1].over:
            break
    return episode
