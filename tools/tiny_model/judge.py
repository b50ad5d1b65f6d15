"""What can be said about one designer answer: is the program valid, does its document matter, can it be won, how hard.

Stricter than the run's gate: no action, legal or not, may win by being repeated, from any of the seeds tried.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from tools.tiny_model.documents import NOUNS, UNSEEN_NOUNS
from tools.tiny_model.families import family_of
from tools.tiny_model.families.base import Family, UnreadableGame
from tools.tiny_model.runner import Program, ProgramFault

from spade_sandbox.verify.gate import MAX_SOURCE_BYTES
from spade_sandbox.verify.parse import parse_answer

CONSTANT = re.compile(r"^    (\w+) = (\d+|\"[^\"]*\")$", re.MULTILINE)
TURNS = 25
SEEDS = tuple(range(100, 106))
EXPERT_SEEDS = tuple(range(200, 212))
CONTROL_ACTIONS = ("", r"\boxed{1}", r"\boxed{test}", r"\boxed{42}")
MALFORMED_ACTIONS = (
    "}{",
    r"\boxed{",
    "\\boxed{²}",
    "\\boxed{\x00}",
    "x" * 5000,
    r"\boxed{" + "9" * 5000 + "}",
    r"\boxed{{'a': 1}}",
)

Trace = list[tuple[float, bool, bool]]


class Unfit(Exception):
    """The program is not valid; the text names the stage."""


@dataclass
class Judgement:
    """stage: "valid", or where the answer failed. Rates are over EXPERT_SEEDS; family is None for an unknown kind."""

    program: str = ""
    stage: str = "valid"
    family: str | None = None
    document_matters: bool = False
    solution_wins: float = 0.0
    expert_wins: float = 0.0
    random_wins: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """Whether the program passed everything that the gate would ask."""
        return self.stage == "valid"

    @property
    def winnable(self) -> bool:
        """Whether a scripted expert, or the program's own solution, won at least once."""
        return self.expert_wins > 0 or self.solution_wins > 0


def normal(program: str) -> str:
    """The program without differences of white space, for comparing texts."""
    return " ".join(program.split())


def shape(program: str) -> str:
    """The program with its words, names of things and numbers removed: what is left is its rules and wording."""
    words = "|".join(NOUNS + UNSEEN_NOUNS)
    text = re.sub(r"class \w+", "class C", normal(program))
    text = re.sub(rf"\b({words})s?\b", "w", text, flags=re.IGNORECASE)
    return re.sub(r"(w )+w", "w", re.sub(r"\d+(\.\d+)?", "0", text))


def judge(answer: str, document: str) -> Judgement:
    """Everything about one answer to a prompt with that document."""
    source = parse_answer(answer, MAX_SOURCE_BYTES)
    if not isinstance(source, str):
        return Judgement(stage=f"parse: {source.reason}", notes=[source.message])
    result = Judgement(program=source)
    try:
        with Program(result.program) as program:
            _check(program)
            family = family_of(program.reset(program.open(), SEEDS[0]))
            result.family = family.name if family else None
            result.solution_wins = _rate(_plays_solution(program, seed) for seed in EXPERT_SEEDS)
            if family:
                result.expert_wins = _rate(_plays(program, family, seed, 0.0)[1] for seed in EXPERT_SEEDS)
                result.random_wins = _rate(_plays(program, family, seed, 1.0)[1] for seed in EXPERT_SEEDS)
                result.document_matters = document_matters(program, result.program, family, document)
    except ProgramFault as fault:
        result.stage, result.notes = "fault", [str(fault)]
    except Unfit as unfit:
        result.stage = str(unfit)
    return result


def document_matters(program: Program, source: str, family: Family, document: str) -> bool:
    """Whether a number or word of the document is a constant of the class that decides how episodes go.

    Each such constant is changed in the text; the same actions from the same seeds must then give other rewards or end
    otherwise. Names and decoration change nothing and so do not count."""
    plays = [_plays(program, family, seed, rate) for seed in SEEDS for rate in (0.0, 1.0)]
    for changed in changed_sources(source, document):
        try:
            with Program(changed) as other:
                if any(_replay(other, seed, actions) != trace for actions, _, trace, seed in plays):
                    return True
        except ProgramFault:
            continue
    return False


def changed_sources(source: str, document: str) -> list[str]:
    """The program with one of the document's numbers or nouns replaced in one class constant, for each of them."""
    numbers = set(re.findall(r"\d+", document))
    nouns = set(re.findall(r"[a-z]+", document.lower())) & set(NOUNS + UNSEEN_NOUNS)
    result: list[str] = []
    for found in CONSTANT.finditer(source):
        value = found[2]
        if value in numbers:
            others = {int(value) + 2, int(value) * 2, int(value) // 2 + 1} - {int(value)}
            result.extend(source[: found.start(2)] + str(n) + source[found.end(2) :] for n in sorted(others))
        for word in nouns & set(value.strip('"').split()):
            other = re.sub(rf"\b{word}\b", "zigzag", value)
            result.append(source[: found.start(2)] + other + source[found.end(2) :])
    return result


def _check(program: Program) -> None:
    first, legal = program.open(), _legal_actions(program)
    for seed in SEEDS:
        second = program.open()
        if program.reset(first, seed) != program.reset(second, seed):
            raise Unfit("reset differs for one seed")
        for action in (*CONTROL_ACTIONS, *legal[:3]):
            answer = program.step(first, action)
            if answer != program.step(second, action):
                raise Unfit("steps differ for one seed")
            if answer[2] or answer[3]:
                break
    actions = [*CONTROL_ACTIONS, *MALFORMED_ACTIONS, *legal]
    for action in actions:
        for seed in SEEDS[:2]:
            _check_control(program, seed, action)


def _legal_actions(program: Program) -> list[str]:
    observation = program.reset(program.open(), SEEDS[0])
    family = family_of(observation)
    if family is None:
        return []
    try:
        return [f"\\boxed{{{action}}}" for action in family.legal(observation)[:10]]
    except UnreadableGame:
        return []


def _check_control(program: Program, seed: int, action: str) -> None:
    instance = program.open()
    program.reset(instance, seed)
    for _ in range(TURNS):
        _, reward, terminated, truncated = program.step(instance, action)
        if terminated:
            raise Unfit("won by one action")
        if not 0.0 <= reward < 1.0:
            raise Unfit("reward out of range")
        if truncated:
            return
    raise Unfit("never ends")


def _plays(program: Program, family: Family, seed: int, error_rate: float) -> tuple[list[str], bool, Trace, int]:
    """Actions, whether won, rewards and ends, and the seed."""
    rng = Random(seed)
    instance = program.open()
    observations, trace, won = [program.reset(instance, seed)], Trace(), False
    actions: list[str] = []
    for _ in range(TURNS):
        try:
            action = family.expert(observations, actions, rng).action
            if rng.random() < error_rate:
                action = rng.choice(family.legal(observations[-1]))
        except (UnreadableGame, IndexError, ValueError):
            action = "1"
        observation, reward, won, truncated = program.step(instance, f"\\boxed{{{action}}}")
        if (reward == 1.0) != won:
            raise Unfit("reward 1.0 without a win, or a win without it")
        observations.append(observation)
        actions.append(action)
        trace.append((reward, won, truncated))
        if won or truncated:
            break
    return actions, won, trace, seed


def _replay(program: Program, seed: int, actions: list[str]) -> Trace:
    instance = program.open()
    program.reset(instance, seed)
    trace = Trace()
    for action in actions:
        _, reward, won, truncated = program.step(instance, f"\\boxed{{{action}}}")
        trace.append((reward, won, truncated))
        if won or truncated:
            break
    return trace


def _plays_solution(program: Program, seed: int) -> bool:
    instance = program.open()
    program.reset(instance, seed)
    for action in program.solution(instance).split():
        _, _, won, truncated = program.step(instance, f"\\boxed{{{action}}}")
        if won or truncated:
            return won
    return False


def _rate(outcomes: Iterable[bool]) -> float:
    results = list(outcomes)
    return sum(results) / len(results)
