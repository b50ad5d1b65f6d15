"""What only tool programs answer inside a cell: schemas and calls (method.md §2.6)."""

import json
from typing import Any

from spade_sandbox.pod.programs.bases import tool_error
from spade_sandbox.pod.programs.values import InvalidReturn, kind, text

MAX_TOOLS = 64
MAX_NAME_CHARACTERS = 128
MAX_DESCRIPTION_CHARACTERS = 10_000
MAX_SCHEMA_CHARACTERS = 100_000
MAX_SCHEMA_DEPTH = 50


def tools(environment: Any) -> dict[str, Any]:
    """Function schemas; each as `{"type": "function", "function": {…}}`, or its inner part alone."""
    schemas = environment.get_tools()
    if type(schemas) is not list or len(schemas) > MAX_TOOLS:
        raise InvalidReturn(f"get_tools returned {kind(schemas)}, not a list of at most {MAX_TOOLS} schemas")
    found = [_schema(schema) for schema in schemas]
    if len({schema["name"] for schema in found}) != len(found):
        raise InvalidReturn("get_tools names a tool twice")
    return {"op": "tools", "tools": found}


def call(environment: Any, name: str, arguments: str, limit_characters: int) -> dict[str, Any]:
    """One tool call. Arguments that are no JSON object are the player's error: an output, not a fault."""
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        parsed = None
    if type(parsed) is not dict:
        output = tool_error(name, "the arguments are no JSON object")
        return {"op": "call", "output": output[:limit_characters], "returncode": 1}
    returned = environment.execute_tool(name, parsed)
    if type(returned) is not dict or returned.keys() != {"output", "returncode"}:
        raise InvalidReturn(f"execute_tool returned {kind(returned)}, not a dict of output and returncode")
    returncode = returned["returncode"]
    if type(returncode) is not int or not 0 <= returncode <= 255:
        raise InvalidReturn(f"returncode is {kind(returncode)}, not an int from 0 to 255")
    return {"op": "call", "output": text(returned["output"], limit_characters, "output"), "returncode": returncode}


def _schema(schema: object) -> dict[str, Any]:
    if type(schema) is dict and type(schema.get("function")) is dict:
        schema = schema["function"]
    if type(schema) is not dict:
        raise InvalidReturn(f"a tool's schema is {kind(schema)}, not dict")
    name = text(schema.get("name"), MAX_NAME_CHARACTERS, "a tool's name")
    if not name:
        raise InvalidReturn("a tool has no name")
    parameters = schema.get("parameters", {})
    if type(parameters) is not dict or not _is_shallow(parameters, MAX_SCHEMA_DEPTH):
        raise InvalidReturn(f"the parameters of {name} are no JSON schema")
    try:
        encoded = json.dumps(parameters, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InvalidReturn(f"the parameters of {name} are no JSON: {error}") from None
    return {
        "name": name,
        "description": text(schema.get("description", ""), MAX_DESCRIPTION_CHARACTERS, f"the description of {name}"),
        "parameters": text(encoded, MAX_SCHEMA_CHARACTERS, f"the parameters of {name}"),
    }


def _is_shallow(value: object, depth: int) -> bool:
    if depth == 0:
        return False
    if isinstance(value, dict):
        return all(_is_shallow(item, depth - 1) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_is_shallow(item, depth - 1) for item in value)
    return True
