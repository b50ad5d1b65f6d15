"""What a designer is asked for: which template a run uses, and the messages of one try (method.md §2.1–2.5, §10)."""

from collections.abc import Mapping, Sequence

from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import DesignerContract, Domain
from spade_contracts.config.switches import DesignerWithoutCorpus, ToolDesignerSystem
from spade_trainer.design.briefs import draw_brief, draw_ideas, sketches
from spade_trainer.design.draws import keyed
from spade_trainer.design.prompt import (
    ChatMessage,
    DesignTemplate,
    MemoryExample,
    designer_messages,
    load_design_template,
)
from spade_trainer.design.skills import Skill, skill_named
from spade_trainer.randomness import Purpose

Place = tuple[int, int, int]
"""Cycle, slot and attempt."""


def template_name(method: MethodConfig) -> str:
    """The designer's template: by domain, by contract, and by how much the model can read.

    Without a corpus the reference asks for something else than with one (switch designerWithoutCorpus, method.md §10).
    """
    settings = method.environments
    other = settings.designer.contract is DesignerContract.OTHER_CONTRACT or (
        not settings.corpus.uri and method.switches.designer_without_corpus is DesignerWithoutCorpus.OTHER_CONTRACT
    )
    if settings.domain is Domain.TOOLS:
        contract = "tools_single" if other else "tools"
    else:
        contract = "games_sparse" if other else "games"
    return f"{contract}_{settings.designer.prompt_template.value.lower()}"


def hint_template_name(method: MethodConfig) -> str:
    """The template of hints, by domain and by how much the model can read."""
    domain = "tools_" if method.environments.domain is Domain.TOOLS else ""
    return f"hint_{domain}{method.environments.designer.prompt_template.value.lower()}"


def request_messages(  # noqa: PLR0917
    method: MethodConfig,
    place: Place,
    skill: str,
    document: str | None,
    positives: Sequence[MemoryExample] = (),
    negative: MemoryExample | None = None,
) -> list[ChatMessage]:
    """The messages of one try. document: already shortened; None without a corpus.

    Raises KeyError for a skill that the domain does not know.
    """
    settings = method.environments
    template = load_design_template(template_name(method))
    known = skill_named(settings.domain, skill)
    tools = settings.domain is Domain.TOOLS
    return designer_messages(
        template,
        known.name,
        known.description,
        settings.difficulty.value,
        document,
        positives,
        negative,
        more=_of_tools(method, place, template, known) if tools else _of_games(method, place, template, known),
        with_system=not tools or method.switches.tool_designer_system is ToolDesignerSystem.SENT,
    )


def _of_tools(method: MethodConfig, place: Place, template: DesignTemplate, skill: Skill) -> Mapping[str, str]:
    """Service, kind of task and sketches of a tool prompt. Source: method.md §2.5, §2.10."""
    brief = draw_brief(keyed(method.seed, Purpose.BRIEF, *place))
    return {
        "domain": brief.domain_text,
        "domain_name": brief.domain,
        "variant": brief.variant_text,
        "variant_name": brief.variant,
        "sketches": sketches(skill.name),
        "extent": template.more.get(f"extent {method.environments.difficulty.value}", ""),
    }


def _of_games(method: MethodConfig, place: Place, template: DesignTemplate, skill: Skill) -> Mapping[str, str]:
    """Ideas, turns and example of the game prompt with sparse reward. Source: method.md §2.4."""
    if "sparse" not in template.name:
        return {}
    ideas = draw_ideas(skill.name, keyed(method.seed, Purpose.BRIEF, *place))
    turns = method.play.max_turns
    return {
        "ideas": "\n".join(f"- {idea}" for idea in ideas),
        "idea": ideas[0],
        "max_turns": str(turns),
        "fewest_turns": str(turns // 2),
        "most_turns": str(3 * turns // 4),
        "example": template.more.get("example", ""),
    }
