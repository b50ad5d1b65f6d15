"""The designer's prompt: one corpus document, one skill, one difficulty, and examples from environment memory.

Pure functions: what is asked for depends on nothing but the arguments. Source: method.md §2.1, §2.2, §2.4, §2.5, §2.8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from spade_trainer.design.sections import fill, load_sections

PACKAGE = "spade_trainer.design"
STEPS_EASY, STEPS_OTHER = 2, 3
"""Interaction steps that a game must need at least (method.md §2.2)."""


class ChatMessage(TypedDict):
    """One message in the form that chat templates take."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True)
class MemoryExample:
    """An earlier environment as a prompt shows it.

    name: its class name. code: its program; a template decides how much of it is shown.
    win_rate: fraction in [0, 1]. regret: hinted minus unhinted mean return, may be negative.
    """

    name: str
    skill: str
    code: str
    win_rate: float
    regret: float


@dataclass(frozen=True)
class DesignTemplate:
    """The wording of a designer prompt, one field a section of its file.

    user: the request with a document. user_without_document: without one.
    memory_code_characters: how much of a positive example's program is shown. more: what single prompts have besides:
    a worked example, or the extent of a task by difficulty.
    """

    name: str
    system: str | None
    user: str
    user_without_document: str
    positives: str
    positive: str
    negative: str
    memory_code_characters: int
    more: Mapping[str, str]


def load_design_template(name: str) -> DesignTemplate:
    """A template by name: DOMAIN_full makes every demand, DOMAIN_compact is for very small models.

    DOMAIN is `games` (method.md §2.2), `tools` (§2.5, several instructions), or, of the reference's designers without a
    corpus, `games_sparse` (§2.4) and `tools_single` (§2.5, one task). What stands in a section `contract` is shared by
    the requests with and without a document. Raises FileNotFoundError for another name and KeyError if the file lacks a
    section.
    """
    text = load_sections(PACKAGE, name)
    contract = text.get("contract", "")
    return DesignTemplate(
        name=name,
        system=text.get("system"),
        user=text["user"].replace("$contract", contract),
        user_without_document=text["user without document"].replace("$contract", contract),
        positives=text["positives"],
        positive=text["positive"],
        negative=text["negative"],
        memory_code_characters=int(text["memory code characters"]),
        more={title: body for title, body in text.items() if title == "example" or title.startswith("extent ")},
    )


def designer_messages(  # noqa: PLR0917
    template: DesignTemplate,
    skill: str,
    skill_description: str,
    difficulty: str,
    document: str | None,
    positives: Sequence[MemoryExample],
    negative: MemoryExample | None,
    *,
    more: Mapping[str, str] | None = None,
    with_system: bool = True,
) -> list[ChatMessage]:
    """The messages that ask a designer for one environment program.

    document: one corpus document, already cut to the run's limit in words; None: the designer gets none. positives:
    examples that taught well, best first. negative: one that was too easy or too hard, or None. Memory follows the
    request, as in method.md §2.8. more: values of further placeholders. with_system: whether the system message that
    the template may have is sent.
    """
    request = fill(
        template.user_without_document if document is None else template.user,
        {
            **(more or {}),
            "document": (document or "").strip(),
            "skill": skill,
            "skill_description": skill_description,
            "difficulty": difficulty,
            "steps": str(STEPS_EASY if difficulty == "easy" else STEPS_OTHER),
        },
    )
    parts = [request]
    if positives:
        parts.append(template.positives)
        parts.extend(_positive(template, number, example) for number, example in enumerate(positives, start=1))
    if negative is not None:
        parts.append(_negative(template, negative))
    messages: list[ChatMessage] = []
    if with_system and template.system is not None:
        messages.append({"role": "system", "content": template.system})
    messages.append({"role": "user", "content": "\n".join(parts)})
    return messages


def _positive(template: DesignTemplate, number: int, example: MemoryExample) -> str:
    return fill(
        template.positive,
        {
            "number": str(number),
            "skill": example.skill,
            "win_rate": f"{example.win_rate:.2f}",
            "regret": f"{example.regret:.2f}",
            "code": example.code[: template.memory_code_characters].rstrip(),
        },
    )


def _negative(template: DesignTemplate, example: MemoryExample) -> str:
    verdict = "easy" if example.win_rate > 0.5 else "hard"
    return fill(
        template.negative,
        {"name": example.name, "verdict": verdict, "win_rate": f"{example.win_rate:.2f}", "skill": example.skill},
    )
