"""Stage `parse`: from a designer's answer to a program, and rules that need no execution (method.md §2.7, §4.1).

Runs in the trusted worker on hostile text: the text is only parsed, after a bound on its size, never compiled or run.
"""

import ast
import re

from spade_contracts.config.verification import VerificationSettings
from spade_contracts.libraries import ALLOWED_LIBRARIES
from spade_contracts.verdicts import Reason, Stage, Verdict, rejected
from spade_sandbox.verify.trees import expression_of, module_of

REPAIR_ROUNDS = VerificationSettings().brace_repairs
NOT_ENVIRONMENTS = frozenset({"Env", "ToolUseBaseEnv"})
FORBIDDEN_NAMES = frozenset({"eval", "exec", "compile", "__import__", "open", "input", "breakpoint"})
"""A program that evaluates the player's words can be won by them; the others need what a cell has not."""
FORBIDDEN_ATTRIBUTES = frozenset({"__subclasses__", "__globals__", "__builtins__", "__code__", "__closure__"})
_OPENING = re.compile(r"```[ \t]*python[ \t]*\r?\n", re.IGNORECASE)
_CLOSING = re.compile(r"^[ \t]*```", re.MULTILINE)
_BRACED = re.compile(r"(?<!\{)\{([^{}]*)\}(?!\})")
_F_STRING = re.compile(r"""\b[rR]?[fF][rR]?("|')(?:\\.|(?!\1).)*\1""")
_ROOTS = frozenset(name.partition(".")[0] for name in ALLOWED_LIBRARIES)


def parse_answer(answer: str, max_source_bytes: int, repair_rounds: int = REPAIR_ROUNDS) -> str | Verdict:
    """The program in a designer's answer, repaired where braces allow it, or the rejection.

    The program is the first python block; an answer without any fence is taken whole. A block without a closing fence
    is a truncated answer. `max_source_bytes` counts UTF-8.
    """
    text = _block(answer)
    if isinstance(text, Verdict):
        return text
    return check_source(text, max_source_bytes, repair_rounds)


def check_source(source: str | bytes, max_source_bytes: int, repair_rounds: int = REPAIR_ROUNDS) -> str | Verdict:
    """Repair a program's braces and apply the static rules; the program to run, or the rejection.

    Bytes are those of a file: UTF-8, with or without a byte order mark.
    """
    text = _decoded(source, max_source_bytes) if isinstance(source, bytes) else source
    return text if isinstance(text, Verdict) else _checked(text, max_source_bytes, repair_rounds)


def _decoded(content: bytes, max_source_bytes: int) -> str | Verdict:
    """The text of a file."""
    if len(content) > max_source_bytes:
        return _too_long(len(content), max_source_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _reject(Reason.ENCODING, f"the program is not UTF-8: byte {error.start} is {error.reason}")


def _checked(source: str, max_source_bytes: int, repair_rounds: int) -> str | Verdict:
    if not source.strip():
        return _reject(Reason.EMPTY, "the answer holds no code")
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        return _reject(Reason.SYNTAX, "the program is not valid Unicode")
    if size > max_source_bytes:
        return _too_long(size, max_source_bytes)
    repaired = _repair(source, repair_rounds)
    if isinstance(repaired, Verdict):
        return repaired
    source, tree = repaired
    return _broken_rule(tree) or source


def _too_long(size: int, limit: int) -> Verdict:
    return _reject(Reason.TOO_LONG, f"the program has {size} bytes; at most {limit} are allowed")


def _block(answer: str) -> str | Verdict:
    opening = _OPENING.search(answer)
    if opening is None:
        if "```" in answer:
            return _reject(Reason.EMPTY, "the answer has a fence but no python block")
        return answer
    closing = _CLOSING.search(answer, opening.end())
    if closing is None:
        return _reject(Reason.TRUNCATED, "the python block has no closing fence; the answer was cut")
    return answer[opening.end() : closing.start()]


def _repair(source: str, rounds: int) -> tuple[str, ast.Module] | Verdict:
    """Parse; on a syntax error double the braces of what cannot be an f-string's expression in that line, and again."""
    message = ""
    for left in range(rounds, -1, -1):
        try:
            return source, module_of(source)
        except SyntaxError as error:
            message = f"line {error.lineno}: {error.msg}"
            better = _double_braces(source, error.lineno) if left else source
        except (ValueError, RecursionError, MemoryError) as error:
            return _reject(Reason.SYNTAX, f"the program cannot be parsed: {error}")
        if better == source:
            break
        source = better
    return _reject(Reason.SYNTAX, message)


def _double_braces(source: str, line_number: int | None) -> str:
    """Repair one line: inside its f-strings, so that a plain `{}` beside them stays; all of it if it shows none."""
    lines = source.split("\n")
    if line_number is None or not 1 <= line_number <= len(lines):
        return source
    line = lines[line_number - 1]
    if _F_STRING.search(line):
        repaired = _F_STRING.sub(lambda match: _BRACED.sub(_doubled_unless_expression, match.group(0)), line)
    else:  # a line within a long f-string
        repaired = _BRACED.sub(_doubled_unless_expression, line)
    lines[line_number - 1] = repaired
    return "\n".join(lines)


def _doubled_unless_expression(match: re.Match[str]) -> str:
    inside = match.group(1)
    expression = re.split(r"![rsa]|:(?!=)", inside, maxsplit=1)[0].rstrip("=")
    try:
        expression_of(expression.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "{{" + inside + "}}"
    return match.group(0)


def _broken_rule(tree: ast.Module) -> Verdict | None:
    if not any(_is_environment(node) for node in tree.body):
        return _reject(
            Reason.NO_ENVIRONMENT_CLASS, "no class whose name ends in Env defines reset and step at the top level"
        )
    for node in ast.walk(tree):
        for module in _imported(node):
            if module.partition(".")[0] not in _ROOTS:
                return _reject(Reason.FORBIDDEN_IMPORT, f"line {_line(node)} imports {module[:100] or 'relatively'}")
        name = _forbidden(node)
        if name:
            return _reject(Reason.FORBIDDEN_NAME, f"line {_line(node)} uses {name}")
    return None


def _is_environment(node: ast.stmt) -> bool:
    if not isinstance(node, ast.ClassDef) or not node.name.endswith("Env") or node.name in NOT_ENVIRONMENTS:
        return False
    methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return bool(node.bases) or {"reset", "step"} <= methods


def _imported(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Import):
        return tuple(alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "" if not node.level else "",)
    return ()


def _forbidden(node: ast.AST) -> str:
    if isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES | {"__builtins__"}:
        return node.id
    if isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_ATTRIBUTES:
        return node.attr
    return ""


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _reject(reason: Reason, message: str) -> Verdict:
    return rejected(Stage.PARSE, reason, message)
