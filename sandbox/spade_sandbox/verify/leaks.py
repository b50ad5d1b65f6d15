"""Stage `leaks` (M14): observations must not give away what the player is to find out.

A text is a leak when the openings of all seeds hold their own solution, or their own hidden value, and not those of
other seeds: a list of options holds them all. Formulas and documents are looked for by their form.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spade_contracts.config.environments import Domain
from spade_contracts.verdicts import Reason, Stage, Trace, Verdict
from spade_sandbox.verify.checks import NO_SOLUTION, PASSED
from spade_sandbox.verify.context import GateContext
from spade_sandbox.verify.moves import Move
from spade_sandbox.verify.playing import play
from spade_sandbox.verify.solutions import payload, readings
from spade_sandbox.verify.trial import OutOfSteps, Program, Trial

STAGE = Stage.LEAKS
SEEDS = 6
BLUNDER = Move(r"\boxed{zxqv}")
"""A first move that deserves no answer."""
MAX_SHARED = 0.5
"""Share of other seeds' values that an opening may hold and still be no list of options."""
MIN_CHARACTERS = 2
RARE_CHARACTERS = 8
MIN_TITLE_CHARACTERS = 8
_SECRET = re.compile(
    r"secret|hidden|answer|solution|password|passcode|pin$|code$|culprit|treasure|correct|winning", re.IGNORECASE
)
_TOKEN = re.compile(r"[^\W_]+")
_OPERAND = r"(?:\d*[A-Za-z_]\w*(?:\([^()\n]*\))?|\d+(?:\.\d+)?|\([^()\n]*\))"
_OPERATOR = r"(?:\s*(?:\*\*|[*+^×·÷])\s*|\s+[-/%]\s+|(?<=[\d)])\s*[-/]\s*|\s*[-/]\s*(?=[\d(]))"
_FORMULA = re.compile(rf"[A-Za-z]\w*(?:\([^()\n]*\))?\s*(?::=|=|≈)\s*({_OPERAND}(?:{_OPERATOR}{_OPERAND})+)")
_LATEX = re.compile(r"\\(?:frac|sum|prod|sqrt|int)\b")
_DOCUMENT = re.compile(
    r"\b(?:reference|source|corpus) (?:document|text|passage|article)\b"
    r"|\baccording to the (?:document|passage|article|text)\b"
    r"|\b(?:in|from|by|of|on) the (?:document|passage|article|text) (?:above|below|provided|given)\b"
    r"|\bthe (?:document|passage|article|text) (?:above|below|says|states|describes|mentions|explains)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Seen:
    """What one seed shows: the opening, the answer to a blunder, and what lies hidden behind them."""

    seed: int
    opening: str
    blunder: str
    hidden: Mapping[str, str]
    solution: tuple[str, ...]
    """Parts of the solution, or nothing."""


async def check_leaks(program: Program, context: GateContext) -> Verdict | None:
    """None if no observation gives anything away."""
    async with program.session("M14: openings") as trial:
        seen = [await _look(trial, seed) for seed in program.seeds[:SEEDS]]
    rejection = _given_away(program, seen, trial.trace) or _formula(program, seen, trial.trace)
    if rejection is None:
        rejection = _document(program, context, trial.trace)
    if rejection is None:
        known = all(one.solution for one in seen)
        program.facts["M14"] = PASSED if known else f"{PASSED} for state, formula and document; solution {NO_SOLUTION}"
    return rejection


async def _look(trial: Trial, seed: int) -> _Seen:
    program = trial.program
    opening = await trial.reset(seed)
    hidden = (await trial.inspect()).values
    blunder = ""
    if program.domain is Domain.GAMES:
        try:
            outcome = (await play(trial, seed, [BLUNDER])).outcomes[0]
            blunder = "" if outcome.over else outcome.text
        except OutOfSteps:
            program.facts["M14_steps"] = "only openings were searched: the battery's steps are used up"
    return _Seen(seed, opening, blunder, hidden, _solution(program, seed))


def _solution(program: Program, seed: int) -> tuple[str, ...]:
    """The parts of a seed's solution that an observation might show: up to the move that wins, where that is known."""
    won = program.solved.moves.get(seed) if program.solved is not None else None
    moves = won or next((one.moves for one in readings(program.solutions.get(seed, ""), program.domain)), ())
    if program.domain is Domain.TOOLS:
        answer = moves[-1].action if moves else ""
        text = answer.removeprefix("<answer>").removesuffix("</answer>")
        return (text,) if text.lower() != "done" and len(text) >= MIN_CHARACTERS else ()
    return tuple(payload(move.action) for move in moves)


def _given_away(program: Program, seen: Sequence[_Seen], trace: Trace) -> Verdict | None:
    """Solutions and hidden values in openings and in answers to a blunder."""
    solutions = {one.seed: tokens(" ".join(one.solution)) for one in seen if one.solution}
    names = set.intersection(*(set(one.hidden) for one in seen)) if seen else set()
    secrets = sorted(name for name in names if _SECRET.search(name))
    for where, texts in (
        ("opening", {one.seed: one.opening for one in seen}),
        ("answer to a meaningless action", {one.seed: one.blunder for one in seen}),
    ):
        shown = {seed: tokens(text) for seed, text in texts.items()}
        if len(solutions) == len(seen) and is_shown(solutions, shown):
            return program.rejection(
                STAGE, Reason.SOLUTION_SHOWN, f"the {where} holds the solution, from every seed", trace
            )
        if program.domain is Domain.GAMES and holds_rare(solutions, shown):
            message = f"the {where} holds a long part of the solution that no other seed has, from every seed"
            return program.rejection(STAGE, Reason.SOLUTION_SHOWN, message, trace)
        for name in secrets:
            values = {one.seed: tokens(_plain(one.hidden[name])) for one in seen}
            if is_shown(values, shown):
                message = f"the {where} holds the hidden value of {name[:60]}, from every seed"
                return program.rejection(STAGE, Reason.STATE_SHOWN, message, trace)
    return None


def is_shown(values: Mapping[int, tuple[str, ...]], texts: Mapping[int, tuple[str, ...]]) -> bool:
    """Whether each seed's text holds its own value in one piece, and mostly not the values of other seeds.

    Values that are equal from all seeds, or too short to tell, are no secret.
    """
    if len(set(values.values())) < 2 or any(sum(map(len, value)) < MIN_CHARACTERS for value in values.values()):
        return False
    if not all(_within(value, texts[seed]) for seed, value in values.items()):
        return False
    crossed = [
        _within(values[other], text)
        for seed, text in texts.items()
        for other in values
        if values[other] != values[seed]
    ]
    return sum(crossed) <= MAX_SHARED * len(crossed)


def holds_rare(solutions: Mapping[int, tuple[str, ...]], texts: Mapping[int, tuple[str, ...]]) -> bool:
    """Whether each seed's text holds a long part of its own solution that stands in no other seed's text."""
    if len(solutions) < max(2, len(texts)):
        return False
    for seed, solution in solutions.items():
        others = {token for other, text in texts.items() if other != seed for token in text}
        own = set(texts[seed])
        if not any(len(part) >= RARE_CHARACTERS and part in own and part not in others for part in solution):
            return False
    return True


def tokens(text: str) -> tuple[str, ...]:
    """Words and numbers in lower case."""
    return tuple(token.lower() for token in _TOKEN.findall(text))


def formula(text: str) -> str:
    """The first formula that defines a name by an expression with another name in it, or an empty text."""
    if (found := _LATEX.search(text)) is not None:
        return found.group(0)
    for match in _FORMULA.finditer(text):
        operands = re.findall(r"[A-Za-z_]\w*", match.group(1))
        if operands:
            return match.group(0)
    return ""


def _formula(program: Program, seen: Sequence[_Seen], trace: Trace) -> Verdict | None:
    found = [formula(one.opening) for one in seen]
    if not found or not all(found):
        return None
    return program.rejection(STAGE, Reason.FORMULA_SHOWN, f"the opening observation holds {found[0][:200]!r}", trace)


def _document(program: Program, context: GateContext, trace: Trace) -> Verdict | None:
    titles = [title for title in context.documents if len(title) >= MIN_TITLE_CHARACTERS]
    for episode in program.episodes:
        for text in (episode.opening, *(outcome.text for outcome in episode.outcomes)):
            found = _DOCUMENT.search(text)
            named = found.group(0) if found else next((t for t in titles if t.lower() in text.lower()), "")
            if named:
                message = f"an observation names the document: {named[:200]!r}"
                return program.rejection(STAGE, Reason.DOCUMENT_NAMED, message, trace)
    return None


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether one sequence stands in another in one piece."""
    length = len(part)
    return any(whole[start : start + length] == part for start in range(len(whole) - length + 1))


def _plain(value: str) -> str:
    """A hidden value's canonical text without the words that say its type."""
    return re.sub(r"\b(?:list|tuple|set|dict|deque|frozenset)(?=[\[{(])", "", value)
