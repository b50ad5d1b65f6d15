"""Mutants play the controls' episodes in a real cell: what the controls notice, what they miss, what is the same."""

import random
from collections.abc import Sequence

import pytest
from tests.component.sandbox.programs import PROGRAMS

from spade_contracts.config import SandboxLimits, VerificationSettings
from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import MutantSettings
from spade_contracts.errors import InfrastructureFault
from spade_contracts.verdicts import Reason, Stage
from spade_sandbox.client import SandboxPool
from spade_sandbox.verify.moves import Episode, Move
from spade_sandbox.verify.mutants import Fate, Tally, check_mutants, judge_mutants
from spade_sandbox.verify.playing import play
from spade_sandbox.verify.record import perform
from spade_sandbox.verify.trial import Program

LIMITS = SandboxLimits(step_seconds=60, load_seconds=60, memory_bytes=64 * 2**20)
WALK = (PROGRAMS / "good" / "vault_walk.py").read_text()
COMMANDS = ("left", "right", "take", "unlock")
NOTHING = ((0, ("",)),)
BLUNDERS = ("unlock", "take", "right", "take", "unlock", "right", "take", "unlock", "right", "take", "unlock")
LOOPS = """
class LoopEnv:
    def __init__(self, max_turns=12):
        pass
    def reset(self, seed=None):
        self.here, self.goal = 0, 3
        return "A corridor.", {}
    def step(self, action):
        if action == "run":
            while self.here != self.goal:
                self.here += 1
        won = self.here == 3 and action == "run"
        return f"at {self.here}", float(won), won, False, {}
"""
TASK = """
class TicketEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        super().reset(seed)
        self._state = {"open": 2, "told": False}
        self._tools = {"close": {"description": "Close one."}, "tell": {"description": "Tell."}}
        self._user_messages = ["Close both tickets and tell me."]
        self._message_criteria = [lambda s: s["open"] == 0 and s["told"]]
        return self._user_messages[0], {}
    def tool_close(self):
        self._state["open"] = max(0, self._state["open"] - 1)
        return "closed" + self._advance_if_done()
    def tool_tell(self):
        self._state["told"] = True
        return "told" + self._advance_if_done()
"""


def way(seed: int) -> tuple[str, ...]:
    """The shortest way to win WALK."""
    key, vault = random.Random(seed).sample(range(1, 7), 2)
    return (*steps(key), "take", *steps(vault - key), "unlock")


def through(*seeds: int) -> list[tuple[int, tuple[str, ...]]]:
    """From each seed the way to win, the way without the key, and trying everything in some rooms."""
    ways = [(seed, way(seed)) for seed in seeds]
    without = [(seed, tuple(word for word in words if word != "take")) for seed, words in ways]
    return [*ways, *without, *((seed, BLUNDERS) for seed in seeds)]


def steps(distance: int) -> tuple[str, ...]:
    return ("right",) * (distance % 7) if distance % 7 <= 3 else ("left",) * (-distance % 7)


def commands(*words: str) -> tuple[Move, ...]:
    return tuple(Move(f"\\boxed{{{word}}}" if word in COMMANDS else word) for word in words)


async def played(
    pool: SandboxPool,
    source: str,
    plays: Sequence[tuple[int, Sequence[Move]]],
    domain: Domain = Domain.GAMES,
    **settings: float,
) -> Program:
    """A program whose only controls were these episodes."""
    asked = VerificationSettings(max_cpu_seconds=60, mutants=MutantSettings.model_validate({"seconds": 5, **settings}))
    program = Program(source, pool, LIMITS, domain=domain, settings=asked)
    async with program.session("controls") as trial:
        for seed, moves in plays:
            await play(trial, seed, moves)
    return program


async def tally(program: Program) -> Tally:
    return await judge_mutants(program, program.settings.mutants)


def walks(plays: Sequence[tuple[int, Sequence[str]]]) -> list[tuple[int, tuple[Move, ...]]]:
    return [(seed, commands(*words)) for seed, words in plays]


async def test_controls_that_try_everything_notice_most_mutants(pool: SandboxPool) -> None:
    program = await played(pool, WALK, walks(through(0, 1, 2)))
    assert any(episode.won for episode in program.episodes)
    assert await check_mutants(program) is None
    assert program.facts["mutants"] == 24.0
    assert program.facts["mutants_left_out"] == 0.0
    assert float(program.facts["mutation_score"]) >= 0.8


async def test_controls_that_try_nothing_are_shown_what_they_miss(pool: SandboxPool) -> None:
    program = await played(pool, WALK, walks(NOTHING), min_score=0.9)
    verdict = await check_mutants(program)
    assert verdict is not None
    assert (verdict.stage, verdict.reason) == (Stage.MUTANTS, Reason.LOW_MUTATION_SCORE)
    assert "they miss line " in verdict.message
    assert verdict.facts["survivors"] == program.facts["survivors"] != 0.0
    assert str(verdict.facts["survivor_1"]).startswith("line ")
    (trace,) = verdict.evidence
    async with pool.session(WALK, LIMITS, max_turns=trace.max_turns) as session:
        assert [await perform(session, exchange) for exchange in trace.exchanges] == [e.answer for e in trace.exchanges]


async def test_telling_session_is_answered_otherwise_by_the_survivor(pool: SandboxPool) -> None:
    program = await played(pool, WALK, walks(NOTHING))
    found = await tally(program)
    number = found.fates.index(Fate.SURVIVED)
    replay = found.telling[number]
    assert replay is not None
    answers = []
    for source in (WALK, found.mutants[number].apply(WALK)):
        other = await played(pool, source, [(replay.seed, replay.moves)])
        answers.append([other.episodes[0].opening, *other.episodes[0].outcomes])
    assert answers[0] != answers[1]


async def test_same_program_and_controls_have_the_same_score(pool: SandboxPool) -> None:
    tallies = [await tally(await played(pool, WALK, walks(through(0)))) for _ in range(2)]
    assert tallies[0] == tallies[1]


async def test_mutant_that_never_answers_is_noticed_and_the_others_are_judged(pool: SandboxPool) -> None:
    program = await played(pool, LOOPS, [(0, commands("run")), (0, commands("walk"))], seconds=1.0)
    found = await tally(program)
    assert found.count(Fate.LEFT_OUT) == 0
    assert found.score == 1.0


@pytest.mark.parametrize(
    "fault", ["raise SystemExit", "raise KeyboardInterrupt", "return None", "return 'x', 1.0", "self.nothing"]
)
async def test_mutant_that_faults_is_noticed(pool: SandboxPool, fault: str) -> None:
    source = f"""
class AEnv:
    def __init__(self, max_turns=12):
        pass
    def reset(self, seed=None):
        return "x", {{}}
    def step(self, action):
        if action == "lose":
            {fault}
        if action == "win":
            return "won", 1.0, True, False, {{}}
        return "on", 0.0, False, False, {{}}
"""
    found = await tally(await played(pool, source, [(0, commands("win")), (0, commands("x"))]))
    assert found.count(Fate.LEFT_OUT) == 0
    assert found.count(Fate.NOTICED) > 0


async def test_nothing_of_one_replay_reaches_the_next(pool: SandboxPool) -> None:
    """Module variables, class variables, printed text and the global generators start anew."""
    source = """
SEEN = []
class AEnv:
    made = 0
    def __init__(self, max_turns=12):
        AEnv.made += 1
    def reset(self, seed=None):
        SEEN.append(random.random())
        print("x" * 100_000)
        return f"{len(SEEN)} {AEnv.made} {SEEN[-1]}", {}
    def step(self, action):
        won = action == "win" and len(SEEN) == 1
        return f"{SEEN}", float(won), won, False, {}
"""
    found = await tally(await played(pool, source, [(7, commands("win")), (8, commands("x"))]))
    assert found.count(Fate.LEFT_OUT) == 0
    assert found.count(Fate.NOTICED) > 4


async def test_program_that_does_not_repeat_itself_in_one_cell_is_not_scored(pool: SandboxPool) -> None:
    source = """
import math
class AEnv:
    def __init__(self, max_turns=12):
        pass
    def reset(self, seed=None):
        math.plays = getattr(math, "plays", 0) + 1
        return f"play {math.plays}", {}
    def step(self, action):
        won = action == "win"
        return "x", float(won), won, False, {}
"""
    program = await played(pool, source, [(0, commands("win"))])
    assert await check_mutants(program) is None
    assert "mutation_score" not in program.facts
    assert program.facts["mutants_left_out"] == program.facts["mutants"] != 0.0


async def test_steps_are_bounded_and_what_they_do_not_reach_is_said(pool: SandboxPool) -> None:
    program = await played(pool, WALK, walks(through(0, 1, 2)), steps=100)
    found = await tally(program)
    assert found.steps <= 100
    assert found.count(Fate.LEFT_OUT) > 0
    assert len(found.fates) == len(found.mutants)


async def test_tool_programs_are_mutated_too(pool: SandboxPool) -> None:
    close, tell = Move(name="close", arguments="{}"), Move(name="tell", arguments="{}")
    done = Move("<answer>done</answer>")
    good = [(0, (close, done, close, tell, done)), (0, (tell, done, close, done, close, done))]
    found = await tally(await played(pool, TASK, good, Domain.TOOLS))
    assert found.count(Fate.LEFT_OUT) == 0
    assert found.score is not None
    assert found.score >= 0.8
    told = [mutant.text(TASK) for mutant in found.mutants]
    assert any("skip an update" in text for text in told)


async def test_program_without_a_predicate_passes_with_its_count(pool: SandboxPool) -> None:
    source = """
class AEnv:
    def __init__(self, max_turns=12):
        pass
    def reset(self, seed=None):
        return "x", {}
    def step(self, action):
        return "x", 0.0, False, False, {}
"""
    program = await played(pool, source, [(0, commands("x"))])
    assert await check_mutants(program) is None
    assert program.facts["mutants"] == 0.0


async def test_lost_sandboxes_say_nothing_about_mutants() -> None:
    async with SandboxPool("127.0.0.1:1", "token") as nowhere:
        program = Program(WALK, nowhere, LIMITS, wait_seconds=0.2)
        program.episodes.append(Episode(0, "x", [Move("x")], []))
        with pytest.raises(InfrastructureFault):
            await check_mutants(program)
