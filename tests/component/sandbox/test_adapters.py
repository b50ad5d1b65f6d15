"""Other trainers play the pool's sessions through their own libraries: OpenEnv's clients and Gymnasium's checker."""

import asyncio
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from aiohttp.test_utils import TestServer
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from openenv.core import EnvClient, GenericEnvClient, MCPToolClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import Action, Observation, State
from tests.support.sandbox_pods import ROOT, TOKEN, RunningPod, eventually

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault
from spade_contracts.tool_calls import ToolCallParsing, parse_tool_calls
from spade_sandbox.adapters.gym import SandboxEnv, Sandboxes
from spade_sandbox.adapters.openenv import Served, application
from spade_sandbox.client import SandboxPool

DATA = Path(__file__).parents[2] / "data" / "programs"
FERRY = (DATA / "reference" / "ferry.py").read_text(encoding="utf-8")
TICKETS = (DATA / "reference" / "tickets.py").read_text(encoding="utf-8")
SEARCH = (DATA / "good" / "number_search.py").read_text(encoding="utf-8")
CRASHES = """
class CrashEnv(Env):
    def reset(self, seed=None):
        return "Say anything.", {}

    def step(self, action):
        if action == "break":
            raise ValueError("broken")
        return "Again.", 0.0, False, False, {"said": action}
"""
LIMITS = SandboxLimits(load_seconds=60.0, step_seconds=60.0)


def served(pool: SandboxPool, domain: Domain, **programs: str) -> Served:
    return Served(programs, pool, LIMITS, domain, max_turns=25, wait_seconds=30.0)


def address(server: TestServer, path: str = "") -> str:
    return str(server.make_url(path)).rstrip("/")


@pytest.fixture
async def games(pool: SandboxPool) -> AsyncIterator[TestServer]:
    """A front with two games and one that crashes."""
    async with TestServer(application(served(pool, Domain.GAMES, ferry=FERRY, search=SEARCH, crash=CRASHES))) as server:
        yield server


@pytest.fixture
async def tasks(pool: SandboxPool) -> AsyncIterator[TestServer]:
    """A front with one tool task."""
    async with TestServer(application(served(pool, Domain.TOOLS, tickets=TICKETS))) as server:
        yield server


@pytest.fixture
def sandboxes(pod: RunningPod) -> Iterator[Sandboxes]:
    """The pool for synchronous callers."""
    with Sandboxes(pod.target, TOKEN) as connected:
        yield connected


async def test_generic_client_of_openenv_wins_a_game(games: TestServer) -> None:
    async with GenericEnvClient(base_url=address(games)) as client:
        result = await client.reset(seed=7, program="ferry", episode_id="e-1")
        assert "ferry carries" in result.observation["text"]
        assert (result.reward, result.done) == (None, False)
        for crate in range(3):
            result = await client.step({"action": f"\\boxed{{ferry {crate}}}"})
        assert (result.reward, result.done, result.observation["terminated"]) == (1.0, True, True)
        assert await client.state() == {"episode_id": "e-1", "step_count": 3, "program": "ferry", "seed": 7}


class TextAction(Action):
    action: str


class TextObservation(Observation):
    text: str


class TypedClient(EnvClient[TextAction, TextObservation, State]):
    """As a user of OpenEnv writes one, on its base classes."""

    def _step_payload(self, action: TextAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[TextObservation]:
        observation = TextObservation(
            text=payload["observation"]["text"], done=payload["done"], reward=payload["reward"]
        )
        return StepResult(observation=observation, reward=payload["reward"], done=payload["done"])

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)


async def test_typed_client_plays_the_program_of_its_address(games: TestServer) -> None:
    async with TypedClient(base_url=address(games, "/programs/ferry")) as client:
        first = await client.reset(seed=3)
        again = await client.reset(seed=3)
        assert first.observation.text == again.observation.text
        weighed = await client.step(TextAction(action=r"\boxed{weigh 1}"))
        assert "Crate 1 weighs" in weighed.observation.text
        assert (await client.state()).step_count == 1


async def test_clients_play_at_once_without_seeing_each_other(games: TestServer) -> None:
    async def play(seed: int) -> list[str]:
        async with GenericEnvClient(base_url=address(games, "/programs/ferry")) as client:
            texts = [(await client.reset(seed=seed)).observation["text"]]
            texts += [(await client.step({"action": rf"\boxed{{weigh {n}}}"})).observation["text"] for n in range(3)]
            return texts

    seeds = [1, 2, 3, 1, 2, 3]
    played = await asyncio.gather(*map(play, seeds))
    assert played[:3] == played[3:]
    assert len({tuple(texts) for texts in played}) == 3


async def test_programs_fault_is_an_error_that_says_whose_it_was_and_a_reset_begins_anew(games: TestServer) -> None:
    async with GenericEnvClient(base_url=address(games, "/programs/crash")) as client:
        await client.reset(seed=1)
        assert (await client.step({"action": "on"})).observation["info"] == {"said": "on"}
        with pytest.raises(RuntimeError, match=r"broken.*EXECUTION_ERROR"):
            await client.step({"action": "break"})
        with pytest.raises(RuntimeError, match="Reset first"):
            await client.step({"action": "on"})
        assert (await client.reset(seed=1)).observation["text"] == "Say anything."


async def test_session_ends_with_its_client(games: TestServer, pool: SandboxPool) -> None:
    async with GenericEnvClient(base_url=address(games, "/programs/ferry")) as client:
        await client.reset(seed=1)
        assert pool.stats.open == 1
    await asyncio.to_thread(eventually, "the session is closed", lambda: pool.stats.open == 0)


async def test_tool_client_of_openenv_completes_a_task(tasks: TestServer) -> None:
    async with MCPToolClient(base_url=address(tasks)) as client:
        await client.reset(seed=3)
        tools = await client.list_tools()
        assert [tool.name for tool in tools][:2] == ["list_tickets", "assign_ticket"]
        assert tools[0].input_schema["required"] == ["status"]
        listed = await client.call_tool("list_tickets", status="open")
        assert "[Step 2]" in listed
        assert "Error calling close_ticket" in await client.call_tool("close_ticket", wrong=1)


async def test_final_answer_of_a_task_comes_as_an_action(tasks: TestServer, pool: SandboxPool) -> None:
    async with pool.session(TICKETS, LIMITS, Domain.TOOLS, max_turns=25) as session:
        await session.reset(3)
        solution = await session.solution()
    async with GenericEnvClient(base_url=address(tasks)) as client:
        await client.reset(seed=3)
        for call in parse_tool_calls(solution, ToolCallParsing.STRICT):
            await client.step({"type": "call_tool", "tool_name": call.name, "arguments": call.values()})
        result = await client.step({"action": "<answer>done</answer>"})
        assert (result.reward, result.done) == (1.0, True)


def test_synchronous_client_of_openenv_plays_what_the_command_serves(pod: RunningPod, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    command = [sys.executable, "-m", "spade_sandbox.adapters", str(DATA / "good" / "number_search.py"), "--port", "0"]
    command += ["--sandboxes", pod.target, "--token-file", str(tmp_path / "token")]
    path = os.pathsep.join(str(ROOT / part) for part in ("contracts", "sandbox"))
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        where = process.stdout.readline().rsplit(maxsplit=1)[-1]
        with GenericEnvClient(base_url=where).sync() as client:
            assert client.reset(seed=4).observation["text"]
            assert not client.step({"action": r"\boxed{1}"}).done
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.parametrize(("source", "domain"), [(FERRY, Domain.GAMES), (SEARCH, Domain.GAMES), (TICKETS, Domain.TOOLS)])
def test_program_passes_gymnasiums_own_checker(sandboxes: Sandboxes, source: str, domain: Domain) -> None:
    limits = LIMITS.model_copy(update={"action_characters": 200})

    def make(render_mode: str | None = None) -> SandboxEnv:
        return sandboxes.env(source, limits=limits, domain=domain, render_mode=render_mode)

    spec = EnvSpec(id="Program-v0", entry_point=make, disable_env_checker=True, order_enforce=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(spec.make(render_mode="ansi").unwrapped)


def test_gymnasium_environment_gives_the_programs_own_rewards_and_ends(sandboxes: Sandboxes) -> None:
    env = sandboxes.env(FERRY, limits=LIMITS, render_mode="ansi")
    observation, info = env.reset(seed=7)
    assert env.render() == observation
    assert info == {"seed": 7}
    ends = [env.step(f"\\boxed{{ferry {crate}}}")[1:4] for crate in range(3)]
    assert ends == [(0.33, False, False), (0.67, False, False), (1.0, True, False)]
    env.close()


def test_unseeded_episodes_repeat_after_a_seed(sandboxes: Sandboxes) -> None:
    env = sandboxes.env(FERRY, limits=LIMITS)
    runs = [[env.reset(seed=5), env.reset(), env.reset()] for _ in range(2)]
    env.close()
    assert runs[0] == runs[1]
    assert runs[0][1] != runs[0][2]


def test_gymnasium_environment_survives_a_fault_by_its_next_reset(sandboxes: Sandboxes) -> None:
    env = sandboxes.env(CRASHES, limits=LIMITS)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("on")
    env.reset(seed=1)
    with pytest.raises(EnvironmentFault, match="broken"):
        env.step("break")
    assert env.reset(seed=1)[0] == "Say anything."
    env.close()
    env.close()


def test_gymnasium_environment_of_a_task_has_its_tools(sandboxes: Sandboxes) -> None:
    env = sandboxes.env(TICKETS, limits=LIMITS, domain=Domain.TOOLS)
    env.reset(seed=3)
    assert env.tools()[3].name == "list_agents"
    assert env.call("list_agents", "{}").output == "ines, otto"
    env.close()


def test_environments_of_one_pool_step_in_a_vector(sandboxes: Sandboxes) -> None:
    vector = gymnasium.vector.SyncVectorEnv([lambda: sandboxes.env(FERRY, limits=LIMITS) for _ in range(3)])
    try:
        vector.reset(seed=1)
        _, rewards, *_ = vector.step((r"\boxed{ferry 0}",) * 3)
        assert list(rewards) == [0.33] * 3
    finally:
        vector.close()


def test_sessions_are_gone_when_the_sandboxes_are_left(pod: RunningPod) -> None:
    with Sandboxes(pod.target, TOKEN) as connected:
        env = connected.env(FERRY, limits=LIMITS)  # closes when nothing holds it
        env.reset(seed=1)
        assert pod.status().sessions >= 1
    eventually("the pod has no session left", lambda: pod.status().sessions == 0)
