"""Stage `leaks` (M14): observations must not give away what the player is to find out.

A text is a leak when the openings of all seeds hold their own solution, or their own hidden value, and not those of
other seeds: a list of options holds them all. Formulas and documents are looked for by their form.
"""

import re
from collections.abc import Mapping

from spade_contracts.config.environments import Domain
from spade_contracts.verdicts import Reason, Stage, Trace, Verdict
from spade_sandbox.verify.checks import NO_SOLUTION, PASSED
from spade_sandbox.verify.context import GateContext
from spade_sandbox.verify.moves import Look
from spade_sandbox.verify.solution import own_moves
from spade_sandbox.verify.solutions import payload
from spade_sandbox.verify.telltales import check_telltales
from spade_sandbox.verify.trial import Program
from spade_sandbox.verify.words import tokens, within

STAGE = Stage.LEAKS
MAX_SHARED = 0.5
"""Share of other seeds' values that an opening may hold and still be no list of options."""
MIN_CHARACTERS = 2
RARE_CHARACTERS = 8
MIN_TITLE_CHARACTERS = 8
_SECRET = re.compile(
    r"secret|hidden|answer|solution|password|passcode|pin$|code$|culprit|treasure|correct|winning", re.IGNORECASE
)
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


async def check_leaks(program: Program, context: GateContext) -> Verdict | None:
    """None if nothing that the controls have seen gives anything away."""
    trace = next(
        (trial.trace for trial in program.trials if trial.note == "controls"), Trace(max_turns=program.max_turns)
    )
    rejection = _given_away(program, trace) or _formula(program, trace) or _document(program, context, trace)
    if rejection is None and program.domain is Domain.GAMES:
        rejection = await check_telltales(program)
    if rejection is None:
        known = all(_solution(program, look) for look in program.looks)
        program.facts["M14"] = PASSED if known else f"{PASSED} for state, formula and document; solution {NO_SOLUTION}"
    return rejection


def _solution(program: Program, look: Look) -> tuple[str, ...]:
    """The parts of a seed's solution that an observation might show: up to the move that wins, where that is known."""
    won = program.solved.moves.get(look.seed) if program.solved is not None else None
    moves = won or own_moves(program, look.seed)
    if program.domain is Domain.TOOLS:
        answer = moves[-1].action if moves else ""
        text = answer.removeprefix("<answer>").removesuffix("</answer>")
        return (text,) if text.lower() != "done" and len(text) >= MIN_CHARACTERS else ()
    return tuple(payload(move.action) for move in moves)


def _given_away(program: Program, trace: Trace) -> Verdict | None:
    """Solutions and hidden values in openings and in answers to a blunder."""
    for where, shown in (
        ("opening", {look.seed: tokens(look.opening) for look in program.looks}),
        ("list of tools", {look.seed: tokens(look.tools) for look in program.looks if look.tools}),
        ("answer to a meaningless action", {look.seed: tokens(look.blunder) for look in program.looks if look.blunder}),
    ):
        looks = [look for look in program.looks if look.seed in shown]
        solutions = {look.seed: tokens(" ".join(part)) for look in looks if (part := _solution(program, look))}
        if len(solutions) == len(looks) and is_shown(solutions, shown):
            message = f"the {where} holds the solution, from every seed"
            return program.rejection(STAGE, Reason.SOLUTION_SHOWN, message, trace)
        if program.domain is Domain.GAMES and holds_rare(solutions, shown):
            message = f"the {where} holds a long part of the solution that no other seed has, from every seed"
            return program.rejection(STAGE, Reason.SOLUTION_SHOWN, message, trace)
        names = set.intersection(*(set(look.hidden) for look in looks)) if looks else set()
        for name in sorted(name for name in names if _SECRET.search(name)):
            if is_shown({look.seed: tokens(_plain(look.hidden[name])) for look in looks}, shown):
                message = f"the {where} holds the hidden value of {name[:60]}, from every seed"
                return program.rejection(STAGE, Reason.STATE_SHOWN, message, trace)
    return None


def is_shown(values: Mapping[int, tuple[str, ...]], texts: Mapping[int, tuple[str, ...]]) -> bool:
    """Whether each seed's text holds its own value in one piece, and mostly not the values of other seeds.

    Values that are equal from all seeds, or too short to tell, are no secret.
    """
    if len(set(values.values())) < 2 or any(sum(map(len, value)) < MIN_CHARACTERS for value in values.values()):
        return False
    if not all(within(value, texts[seed]) for seed, value in values.items()):
        return False
    crossed = [
        within(values[other], text) for seed, text in texts.items() for other in values if values[other] != values[seed]
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


def formula(text: str) -> str:
    """The first formula that defines a name by an expression with another name in it, or an empty text."""
    if (found := _LATEX.search(text)) is not None:
        return found.group(0)
    for match in _FORMULA.finditer(text):
        operands = re.findall(r"[A-Za-z_]\w*", match.group(1))
        if operands:
            return match.group(0)
    return ""


def _formula(program: Program, trace: Trace) -> Verdict | None:
    found = [formula(look.opening) for look in program.looks]
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


def _plain(value: str) -> str:
    """A hidden value's canonical text without the words that say its type."""
    return re.sub(r"\b(?:list|tuple|set|dict|deque|frozenset)(?=[\[{(])", "", value)
