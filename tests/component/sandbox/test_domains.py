"""Programs of both domains, written as for the reference, are played through real pods."""

import json
from pathlib import Path

import pytest

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import InvalidInput
from spade_contracts.protocol import Criterion
from spade_contracts.tool_calls import ToolCallParsing, final_answer, parse_tool_calls
from spade_sandbox.client import InvalidReturn, ProgramCrash, ProgramTimeout, SandboxPool, SandboxSession

REFERENCE = Path(__file__).parents[2] / "data" / "programs" / "reference"
FERRY = (REFERENCE / "ferry.py").read_text(encoding="utf-8")
TICKETS = (REFERENCE / "tickets.py").read_text(encoding="utf-8")
LIMITS = SandboxLimits(load_seconds=60.0, step_seconds=60.0)
T, F = Criterion.TRUE, Criterion.FALSE


def tool_program(body: str) -> str:
    """A tool program whose one tool does `body`."""
    return f"""
class ProbeEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        super().reset(seed)
        self._tools = {{"probe": {{"description": "", "parameters": {{"type": "object"}}}}}}
        return "Use the probe.", {{}}

    def tool_probe(self, **arguments):
        {body}
"""


async def replay(session: SandboxSession, solution: str) -> float:
    """Play a tool program's own solution; the reward of its final answer."""
    for call in parse_tool_calls(solution, ToolCallParsing.STRICT):
        assert (await session.call(call.name, call.arguments)).returncode == 0
    result = await session.step(f"<answer>{final_answer(solution)}</answer>")
    assert result.terminated
    return result.reward


async def test_game_of_the_reference_is_won_by_its_solution(pool: SandboxPool) -> None:
    async with pool.session(FERRY, LIMITS, max_turns=25) as session:
        first = await session.reset(7)
        assert first == await session.reset(7)
        assert "three" in first.lower()
        result = None
        for line in (await session.solution()).splitlines():
            result = await session.step(line)
        assert result is not None
        assert (result.reward, result.terminated) == (1.0, True)


async def test_games_own_turns_end_it_before_the_limit_asked_for(pool: SandboxPool) -> None:
    async with pool.session(FERRY, LIMITS, max_turns=25) as session:
        await session.reset(1)
        ends = [(await session.step("look")).truncated for _ in range(12)]
        assert ends == [False] * 11 + [True]


async def test_tool_task_of_the_reference_is_completed_by_its_solution(pool: SandboxPool) -> None:
    async with pool.session(TICKETS, LIMITS, Domain.TOOLS, max_turns=25) as session:
        for seed in (3, 4, 3):
            assert "[Step 1]" in await session.reset(seed)
            assert await replay(session, await session.solution()) == 1.0


async def test_tool_schemas_come_as_the_program_wrote_them(pool: SandboxPool) -> None:
    async with pool.session(TICKETS, LIMITS, Domain.TOOLS, max_turns=25) as session:
        await session.reset(3)
        tools = await session.tools()
        assert [tool.name for tool in tools] == ["list_tickets", "assign_ticket", "close_ticket", "list_agents"]
        assert tools[0].function_schema()["function"]["parameters"]["properties"]["status"]["enum"] == [
            "open",
            "closed",
        ]


async def test_instructions_and_criteria_move_with_the_calls(pool: SandboxPool) -> None:
    async with pool.session(TICKETS, LIMITS, Domain.TOOLS, max_turns=25) as session:
        await session.reset(3)
        before = await session.inspect()
        assert (before.instruction, before.criteria, len(before.instructions)) == (0, (F, F, F), 3)
        assert "ines" in (await session.call("list_agents", "{}")).output
        assert await session.inspect() == before
        await session.call("list_tickets", '{"status": "open"}')
        after = await session.inspect()
        assert (after.instruction, after.criteria) == (1, (T, F, F))
        assert {name for name in after.values if after.values[name] != before.values[name]} == {"listed"}
        wrong = await session.step("<answer>done</answer>")
        assert (wrong.reward, wrong.terminated) == (0.0, False)
        assert before.instructions[1] in wrong.observation


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_tickets", "{}"),
        ("list_tickets", '{"status": "open", "more": 1}'),
        ("list_tickets", "open"),
        ("no_such_tool", "{}"),
        ("", ""),
        ("x" * 1000, "[" * 200_000),
        ("\ud800", '{"\ud800": 1}'),
    ],
)
async def test_players_error_in_a_call_is_an_output_and_the_session_lives(
    pool: SandboxPool, name: str, arguments: str
) -> None:
    async with pool.session(TICKETS, LIMITS, Domain.TOOLS, max_turns=25) as session:
        await session.reset(3)
        failed = await session.call(name, arguments)
        assert failed.returncode == 1
        assert failed.output.startswith("Error calling ")
        assert await replay(session, await session.solution()) == 1.0


async def test_arguments_reach_the_tool_as_they_were_written(pool: SandboxPool) -> None:
    wanted = {"nested": {"list": [1, 2.5, None, {"deep": True}]}, "text": "é \n \u2028", "large": 10**30}
    source = tool_program("return json.dumps(arguments)")
    async with pool.session(source, LIMITS, Domain.TOOLS, max_turns=25) as session:
        await session.reset(3)
        assert json.loads((await session.call("probe", json.dumps(wanted))).output) == wanted


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("raise SystemExit(0)", ProgramCrash),
        ("while True: pass", ProgramTimeout),
        ("return 'x' * 10**6", InvalidReturn),
        ("return chr(0xd800)", InvalidReturn),
    ],
)
async def test_programs_error_in_a_call_is_its_typed_fault(
    pool: SandboxPool, body: str, error: type[Exception]
) -> None:
    limits = LIMITS.model_copy(update={"step_seconds": 3.0})
    async with pool.session(tool_program(body), limits, Domain.TOOLS, max_turns=25) as session:
        await session.reset(3)
        with pytest.raises(error):
            await session.call("probe", "{}")
        with pytest.raises(error):
            await session.tools()


async def test_schemas_that_are_none_are_an_invalid_return(pool: SandboxPool) -> None:
    source = tool_program("pass") + "\n    def get_tools(self):\n        return [{'name': 'x', 'parameters': 5}]\n"
    async with pool.session(source, LIMITS, Domain.TOOLS, max_turns=25) as session:
        await session.reset(3)
        with pytest.raises(InvalidReturn, match="no JSON schema"):
            await session.tools()


async def test_games_have_no_tools_and_asking_costs_nothing(pool: SandboxPool) -> None:
    async with pool.session(FERRY, LIMITS, max_turns=25) as session:
        await session.reset(1)
        with pytest.raises(InvalidInput, match="no tools"):
            await session.tools()
        assert (await session.step(r"\boxed{ferry 0}")).reward > 0


async def test_hidden_state_of_a_game_is_the_same_in_two_cells(pool: SandboxPool) -> None:
    seen = []
    for _ in range(2):
        async with pool.session(FERRY, LIMITS, max_turns=25) as session:
            await session.reset(11)
            await session.step(r"\boxed{ferry 2}")
            seen.append(await session.inspect())
    assert seen[0] == seen[1]
    assert seen[0].values["left"] == "Counter{0: 1, 1: 1}"
    assert (seen[0].instruction, seen[0].instructions, seen[0].criteria) == (0, (), ())
