"""Tool-use programs keep the reference's base class (method.md §2.6, V27) and answer with exact types."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.protocol import CallResult, ToolsResult
from spade_sandbox.pod.programs import bases, games, loading, tools
from spade_sandbox.pod.programs.values import InvalidReturn

CHARACTERS = 1000
SHOP = """
class ShopEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        self._state = {"stock": {"pen": 3}, "sold": 0, "checked": False}
        self._tools = {
            "look": {"description": "See the stock.", "parameters": {"type": "object", "properties": {}}},
            "sell": {"description": "Sell.", "parameters": {"type": "object", "properties": {"item": {}}}},
        }
        self._user_messages = ["Check the stock.", "Sell one pen."]
        self._message_criteria = [lambda s: s["checked"], lambda: self._state["sold"] == 1]
        return self._user_messages[0], {}

    def tool_look(self):
        self._state["checked"] = True
        return str(self._state["stock"]) + self._advance_if_done()

    def tool_sell(self, item):
        if self._state["stock"][item] < 1:
            return "none left"
        self._state["stock"][item] -= 1
        self._state["sold"] += 1
        return "sold" + self._advance_if_done()

    def tool_hidden(self):
        return 7

    def solution(self):
        return "look, sell, done"
"""


def shop(max_turns: int = 10) -> Any:
    return loading.load(SHOP, max_turns)


def called(environment: object, name: str, arguments: str = "{}") -> tuple[str, int]:
    answer = tools.call(environment, name, arguments, CHARACTERS)
    CallResult.model_validate(answer)
    return answer["output"], answer["returncode"]


def expecting(answer: object, max_turns: int = 10) -> bases.ToolUseBaseEnv:
    environment = bases.ToolUseBaseEnv(max_turns=max_turns)
    environment._expected_answer = answer
    return environment


@pytest.mark.parametrize(
    ("given_answer", "right"),
    [("1234.5", True), ("$1,234.505", True), ("1234.52", False), ("$1,234.50 ", True), ("nan", False)],
)
def test_vector_v27_answers(given_answer: str, right: bool) -> None:
    observation, reward, terminated, truncated, _ = expecting("$1,234.50").step(f"<answer>{given_answer}</answer>")
    assert (reward, terminated, truncated) == (float(right), right, False)
    assert (observation == "Correct!") is right


def test_vector_v27_turns() -> None:
    environment = expecting("blue", max_turns=2)
    observation, *rest = environment.step("it is blue")
    assert "<answer>" in observation
    assert rest == [-0.1, False, False, {}]
    observation, *rest = environment.step("it is blue")
    assert "blue" in observation
    assert rest == [0.0, False, True, {}]


def test_answers_compare_without_case_and_a_missing_expectation_is_never_met() -> None:
    assert expecting("Blue").step("<answer>bLUE</answer>")[1] == 1.0
    assert expecting(None).step("<answer>None</answer>")[1] == 0.0
    assert expecting(None).step("<answer></answer>")[1] == 0.0


def test_task_is_done_when_every_instruction_is_and_the_player_says_so() -> None:
    environment = shop()
    assert environment.step("<answer>done</answer>")[1:3] == (0.0, False)
    assert "Sell one pen." in called(environment, "look")[0]
    observation, reward, *_ = environment.step("<answer>done</answer>")
    assert "Sell one pen." in observation
    assert reward == 0.0
    assert "done" in called(environment, "sell", '{"item": "pen"}')[0]
    assert environment.step("<answer>sold</answer>")[1] == 0.0
    assert environment.step("<answer>Done</answer>") == ("Correct!", 1.0, True, False, {})


def test_calls_take_no_turn_and_the_last_turn_reveals_the_solution() -> None:
    environment = shop(max_turns=1)
    for _ in range(5):
        called(environment, "look")
    observation, reward, terminated, truncated, _ = environment.step("<answer>done</answer>")
    assert "look, sell, done" in observation
    assert (reward, terminated, truncated) == (0.0, False, True)


def test_tool_call_within_a_step_is_executed_for_no_reward() -> None:
    text = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
    observation, reward, *_ = shop().step(text)
    assert "pen" in observation
    assert reward == 0.0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sell", '{"item": "cup"}'),
        ("sell", "{}"),
        ("fly", "{}"),
        ("", "{}"),
        ("look", "[]"),
        ("look", "{"),
        ("look", ""),
    ],
)
def test_failed_call_is_an_output_and_no_fault(name: str, arguments: str) -> None:
    output, returncode = called(shop(), name, arguments)
    assert returncode == 1
    assert output.startswith(f"Error calling {name}: ")


def test_existing_method_that_is_no_listed_tool_can_be_called() -> None:
    assert called(shop(), "hidden") == ("7", 0)


def test_calls_are_remembered_until_the_next_reset() -> None:
    environment = shop()
    called(environment, "hidden")
    assert environment._call_history == [{"name": "hidden", "args": {}, "output": "7", "returncode": 0}]
    environment.reset(1)
    assert environment._call_history == []


def test_schemas_are_those_of_the_listed_tools() -> None:
    answer = tools.tools(shop())
    ToolsResult.model_validate({**answer, "tools": tuple(answer["tools"])})
    assert [tool["name"] for tool in answer["tools"]] == ["look", "sell"]
    assert json.loads(answer["tools"][1]["parameters"])["properties"] == {"item": {}}


class Listing:
    """An environment whose schemas and outputs are what it was given."""

    def __init__(self, given_value: object) -> None:
        self.given = given_value

    def get_tools(self) -> object:
        return self.given

    def execute_tool(self, name: str, arguments: dict[str, Any]) -> object:
        return self.given


def nested(depth: int) -> dict[str, Any]:
    return {"a": nested(depth - 1)} if depth else {}


@pytest.mark.parametrize(
    "schemas",
    [
        None,
        ("look",),
        ["look"],
        [{"description": "x"}],
        [{"name": ""}],
        [{"name": "look", "parameters": []}],
        [{"name": "look", "parameters": {"a": {1, 2}}}],
        [{"name": "look", "parameters": {"a": float("nan")}}],
        [{"name": "look", "parameters": {"a": "x" * 200_000}}],
        [{"name": "look", "parameters": nested(200)}],
        [{"name": "look"}, {"name": "look"}],
        [{"name": f"look{i}"} for i in range(65)],
    ],
)
def test_schemas_that_are_none_are_an_invalid_return(schemas: object) -> None:
    with pytest.raises(InvalidReturn):
        tools.tools(Listing(schemas))


def test_schema_may_come_bare_or_as_a_function() -> None:
    bare = {"name": "look", "description": "d", "parameters": {}}
    assert tools.tools(Listing([bare])) == tools.tools(Listing([{"type": "function", "function": bare}]))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["output", "returncode", "x"]), inner),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries({"output": st.text() | anything, "returncode": st.integers(-1, 300) | anything}) | anything
)
def test_call_gives_an_answer_of_the_protocol_or_an_invalid_return(returned: object) -> None:
    try:
        answer = tools.call(Listing(returned), "look", "{}", CHARACTERS)
    except InvalidReturn:
        return
    CallResult.model_validate(answer)


def test_tool_program_answers_reset_step_and_solution_like_a_game() -> None:
    environment = shop()
    assert games.reset(environment, 1, CHARACTERS)["observation"] == "Check the stock."
    assert games.step(environment, "?", CHARACTERS)["reward"] == -0.1
    assert games.solution(environment, CHARACTERS)["text"] == "look, sell, done"
