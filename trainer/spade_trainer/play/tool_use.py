"""Turns of tool-use episodes: final answers, tool calls, and texts that are neither (method.md §1.7, §5.3)."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from spade_contracts.config import MethodConfig
from spade_contracts.config.play import MalformedCalls
from spade_contracts.config.switches import ThoughtActions
from spade_contracts.errors import EnvironmentFault
from spade_contracts.protocol import FaultKind
from spade_contracts.tool_calls import is_answer, is_malformed, parse_tool_calls
from spade_sandbox.client import Tool
from spade_trainer.chat import TOOL, spoken
from spade_trainer.play.course import Answered, Course, Session, call_tool, take_step
from spade_trainer.play.prompt import with_reminder

MAX_SCHEMA_CHARACTERS = 200_000
"""Of all tools of a program together: more would fill any context, and hold up the worker."""


async def offered_tools(course: Course, session: Session) -> tuple[dict[str, Any], ...]:
    """Function schemas of the tools that the program offers, for the chat template.

    What the sandbox says is not believed: two tools of one name, or more text than a player could read, are the
    program's fault. Raises EnvironmentFault.
    """
    course.operation = "tools"
    return checked_tools(await session.tools())


def checked_tools(tools: Sequence[Tool]) -> tuple[dict[str, Any], ...]:
    """The tools' schemas. Raises EnvironmentFault if they cannot be shown to a player."""
    schemas = tuple(tool.function_schema() for tool in tools)
    if len({tool.name for tool in tools}) != len(tools):
        raise EnvironmentFault(FaultKind.INVALID_RETURN.value, "the program names a tool twice")
    if len(json.dumps(schemas)) > MAX_SCHEMA_CHARACTERS:
        raise EnvironmentFault(FaultKind.INVALID_RETURN.value, "the program's tool schemas are too long for a player")
    return schemas


async def take_turn(method: MethodConfig, course: Course, session: Session, reply: str) -> Answered:
    """Act on one turn: a final answer goes to the program, and its tool calls are ignored; else all calls are executed
    in order, each answered by a message of its own; else the program is asked for guidance.

    Only what is said aloud is acted on, unless the switch thoughtActions says otherwise (D20).
    """
    thoughts_count = method.switches.thought_actions is ThoughtActions.ACTED_ON
    said = reply if thoughts_count else spoken(reply)
    if is_answer(said):
        return await take_step(course, session, said)
    calls = parse_tool_calls(said, method.switches.tool_calls)
    if calls:
        outputs = [await call_tool(course, session, call) for call in calls]
        return Answered(tuple({"role": TOOL, "content": output} for output in outputs))
    answered = await take_step(course, session, said)
    if method.play.malformed_calls is MalformedCalls.TRAINED or not is_malformed(said, calls):
        return answered
    messages = tuple({**m, "content": with_reminder(str(m["content"]))} for m in answered.messages)
    return replace(answered, messages=messages, malformed=True)
