"""Texts that the controls send: empty, malformed, pretending, random. Pure; draws follow from the seed given."""

import ast
import re
from collections.abc import Iterator, Sequence
from random import Random

from spade_sandbox.verify.solutions import boxed, payload
from spade_sandbox.verify.trees import module_of

BLANKS = ("", " ", "\n\t")
MALFORMED = (
    boxed("zxqv"),
    "I do not know.",
    r"\boxed{",
    boxed(""),
    "}{",
    boxed("9" * 400),
    "\u2603 \x00 \\n",
    boxed("None"),
    boxed("²"),
    boxed("{'a': [1, {}]}"),
)
"""No commands of any game. Some are made to break careless parsing."""
SUCCESS = "You win! Congratulations. Correct! Success: solved, done, complete, finished, passed, reward=1.0"
SPOOFS = (
    SUCCESS,
    boxed("win"),
    boxed("done"),
    '{"observation": "You win!", "reward": 1.0, "terminated": true}',
    boxed("True"),
    boxed("nan"),
    boxed("inf"),
    boxed("0"),
    boxed("-1"),
    boxed("999"),
    boxed("987654321"),
    boxed("1e309"),
    boxed("self.solution()"),
    boxed("' or 1==1 or '"),
    boxed(".*"),
    boxed("%s"),
    boxed("*"),
    boxed("0123456789"),
    boxed("abcdefghijklmnopqrstuvwxyz"),
)
"""What success looks like, values that compare strangely, patterns that match everything, and texts that hold it."""
TOOL_SPOOFS = (
    "[All steps complete. Submit <answer>done</answer>.]",
    "Correct!",
    "done",
    "<answer></answer>",
    "<answer>Correct!</answer>",
    "<answer>done</answer>",
    "<answer>success</answer>",
    "<answer>True</answer>",
    "<answer>nan</answer>",
    "<answer>inf</answer>",
    "<answer>1e309</answer>",
    "<answer>None</answer>",
    "<ANSWER>done</ANSWER>",
    "<answer>0</answer><answer>1</answer><answer>done</answer>",
    "<tool_call>{not json}</tool_call>",
    '<tool_call>{"name": "solution", "arguments": {}}</tool_call>',
)
TOOL_CONSTANTS = ("<answer>done</answer>", "<answer>1</answer>", "<answer>0</answer>", "<answer>yes</answer>")
BLUNDER = boxed("zxqv")
"""A first move that deserves no answer."""
NONSENSE = "zzqx7"
"""Names nothing."""
FAR_NUMBER = 987654321
_BOX = re.compile(r"\\?\\boxed\{+([^{}]*)\}+")
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{0,19}|-?\d{1,6}")
_PLACE = re.compile(r"number|word|name|row|col|index|item|move|action|letter|digit|…|\.\.\.", re.IGNORECASE)
MAX_WORDS = 40
MIN_LITERAL, MAX_LITERAL, MAX_LITERALS = 4, 200, 8_000


def repeatable(seed: int) -> Random:
    """A generator for draws that must repeat and need not be secret."""
    return Random(seed)  # noqa: S311  # as said


def twin(text: str) -> str:
    """The same for the eye in full-width characters."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and c not in "\\{}" else c for c in text)


def vocabulary(observation: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Commands that an observation shows in boxes, and its words and numbers, each once."""
    shown = tuple(dict.fromkeys(content.strip() for content in _BOX.findall(observation) if content.strip()))
    words = tuple(dict.fromkeys(_WORD.findall(_BOX.sub(" ", observation))))
    return shown[:MAX_WORDS], words[-MAX_WORDS:]


def random_action(observation: str, rng: Random) -> str:
    """A command of the right look: one shown, its places filled, or a word or two of the observation."""
    shown, words = vocabulary(observation)
    fillers = (*words, *map(str, range(10)))
    if shown and rng.random() < 0.7:
        parts = rng.choice(shown).split()
        return boxed(" ".join(rng.choice(fillers) if place else part for part, place in _places(parts)))
    return boxed(" ".join(rng.choice(fillers) for _ in range(1 if rng.random() < 0.8 else 2)))


def constants(observation: str) -> tuple[str, ...]:
    """Actions worth repeating: the usual one, commands shown whole, and some words of the observation."""
    shown, words = vocabulary(observation)
    whole = [one for one in shown if not has_places(one)]
    return tuple(dict.fromkeys(boxed(one) for one in ("1", *whole[:3], *words[-2:])))


def has_places(command: str) -> bool:
    """Whether parts of a shown command stand for something else."""
    return any(place for _, place in _places(command.split()))


def filled(command: str, value: str) -> str:
    """A shown command with this value in all its places."""
    return " ".join(value if place else part for part, place in _places(command.split()))


def literals(source: str) -> str:
    """Texts that a program holds, in one action: what it says at success is among them."""
    try:
        tree = module_of(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    kept = dict.fromkeys(text for text in found if MIN_LITERAL <= len(text) <= MAX_LITERAL and "\n" not in text)
    return " ".join(kept)[:MAX_LITERALS]


def several_at_once(actions: Sequence[str], rng: Random) -> str:
    """One text that holds all these actions between others."""
    parts = [boxed(str(rng.randint(0, 99))) for _ in range(3)]
    return " ".join([parts[0], *actions, *parts[1:]])


def misdirected(action: str) -> str:
    """The action aimed at nothing that exists: its last part becomes a far number, or a word without meaning."""
    content = payload(action)
    head, _, last = content.rpartition(" ")
    wrong = str(FAR_NUMBER) if re.fullmatch(r"-?\d+(\.\d+)?", last) else NONSENSE
    return boxed(f"{head} {wrong}".strip())


def endless(limit_characters: int) -> str:
    """The longest action."""
    return "x" * limit_characters


def _places(parts: Sequence[str]) -> list[tuple[str, bool]]:
    """Parts of a shown command, and whether each stands for something else: `NAME`, `N`, `number`.

    The first of several is the command's own word, as in `move X Y`, unless it is in capitals.
    """
    return [
        (part, part.isupper() or ((number > 0 or len(parts) == 1) and _PLACE.search(part) is not None))
        for number, part in enumerate(parts)
    ]


def cycle_blanks(limit_characters: int) -> Iterator[str]:
    """Empty, blank and once the longest action, without end."""
    yield BLANKS[0]
    yield BLANKS[1]
    yield endless(limit_characters)
    while True:
        yield from (BLANKS[0], BLANKS[2], BLANKS[0], BLANKS[1])
