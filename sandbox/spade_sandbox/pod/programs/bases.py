"""The base classes that programs find defined: `Env` and `ToolUseBaseEnv` (method.md §2.6, §4.1).

Written by the specification. They live in the cell and are as untrusted as the program that derives from them.
"""

import inspect
from collections.abc import Callable
from typing import Any

from spade_contracts.tool_calls import ToolCallParsing, final_answer, parse_tool_calls
from spade_sandbox.pod.programs.chance import seed as seed_generators

FORMAT_REWARD = -0.1
NUMBER_TOLERANCE = 0.01
FORMAT_ERROR = (
    'Format error: call a tool as <tool_call>{"name": "…", "arguments": {…}}</tool_call>, '
    "or give the final answer as <answer>…</answer>."
)


class Env:
    """What a game may derive from; it demands nothing."""

    def __init__(self, max_turns: int | None = None, **settings: Any) -> None:
        if max_turns is not None:
            self.max_turns = max_turns

    def reset(self, seed: int | None = None, **options: Any) -> tuple[str, dict[str, Any]]:
        """Seed the global generators, for programs that call their base class first."""
        if seed is not None:
            seed_generators(seed)
        return "", {}

    def close(self) -> None:
        """Nothing is held."""


class ToolUseBaseEnv(Env):
    """A tool-use task: tools, a hidden state, and either an expected answer or a list of instructions."""

    def __init__(self, max_turns: int = 10, **settings: Any) -> None:
        super().__init__(max_turns=max_turns)
        self.turn_count = 0
        self._tools: dict[str, dict[str, Any]] = {}
        self._state: dict[str, Any] = {}
        self._call_history: list[dict[str, Any]] = []
        self._expected_answer: Any = None
        self._user_messages: list[str] = []
        self._message_criteria: list[Callable[..., Any]] = []
        self._current_msg = 0

    def reset(self, seed: int | None = None, **options: Any) -> tuple[str, dict[str, Any]]:
        """Forget the last episode's turns and calls."""
        self.turn_count = 0
        self._call_history = []
        self._current_msg = 0
        return super().reset(seed)

    def get_tools(self) -> list[dict[str, Any]]:
        """Function schemas of the tools, as chat templates take them."""
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": tool.get("description", ""),
                    "parameters": tool.get("parameters", {"type": "object", "properties": {}}),
                },
            }
            for name, tool in self._tools.items()
        ]

    def execute_tool(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Call `tool_<name>`. What it raises becomes its output; schemas are not enforced, turns not counted."""
        record: dict[str, Any] = {"name": name, "args": args}
        self._call_history.append(record)
        try:
            method = getattr(self, f"tool_{name}", None)
            if method is None:
                raise AttributeError("there is no such tool")
            output, returncode = method(**args), 0
        except MemoryError:
            raise
        except Exception as error:
            output, returncode = tool_error(name, error), 1
        answer = {"output": output if isinstance(output, str) else str(output), "returncode": returncode}
        record.update(answer)
        return answer

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """One text of the player: final answer, tool call, or format error; the last turn reveals the solution."""
        self.turn_count += 1
        observation, reward, won = self._respond(action)
        if not won and self.turn_count >= self.max_turns:
            return f"Time is up. The solution was: {self.solution()}", 0.0, False, True, {}
        return observation, reward, won, False, {}

    def solution(self) -> str:
        """The expected answer; programs with instructions give their own."""
        return "" if self._expected_answer is None else str(self._expected_answer)

    def _respond(self, action: str) -> tuple[str, float, bool]:
        answer = final_answer(action)
        if answer is not None:
            if self._check_answer(answer):
                return "Correct!", 1.0, True
            return self._feedback(), 0.0, False
        calls = parse_tool_calls(action, ToolCallParsing.STRICT)
        if not calls:
            return FORMAT_ERROR, FORMAT_REWARD, False
        outputs = [self.execute_tool(call.name, call.values())["output"] for call in calls]
        return "\n".join(outputs), 0.0, False

    def _check_answer(self, answer: str) -> bool:
        """`done` once every instruction is completed; without instructions, the expected answer (V27)."""
        if self._message_criteria:
            return answer.strip().lower() == "done" and self._current_msg >= len(self._message_criteria)
        if self._expected_answer is None:
            return False
        given, expected = str(answer).strip(), str(self._expected_answer).strip()
        if given.lower() == expected.lower():
            return True
        try:
            return abs(_number(given) - _number(expected)) < NUMBER_TOLERANCE
        except ValueError:
            return False

    def _advance_if_done(self) -> str:
        """The next instruction if the current one is completed; programs write their own and append it to outputs."""
        criteria = self._message_criteria
        if self._current_msg >= len(criteria) or not holds(criteria[self._current_msg], self._state):
            return ""
        self._current_msg += 1
        if self._current_msg >= len(criteria):
            return "\n[All steps complete. Submit <answer>done</answer>.]"
        return f"\n[New step] {self._user_messages[self._current_msg]}"

    def _feedback(self) -> str:
        if self._current_msg < len(self._user_messages):
            return f"Not correct yet. Open instruction: {self._user_messages[self._current_msg]}"
        return "Not correct. Try again."


def holds(criterion: Callable[..., Any], state: object) -> bool:
    """A criterion is a predicate of the state, or of nothing (a closure or a bound method)."""
    parameters = inspect.signature(criterion).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wants_state = any(one.default is one.empty and one.kind not in variadic for one in parameters)
    return bool(criterion(state) if wants_state else criterion())


def tool_error(name: str, error: object) -> str:
    """The output of a call that failed."""
    return f"Error calling {name}: {error}"


def _number(text: str) -> float:
    return float(text.replace("$", "").replace(",", ""))
