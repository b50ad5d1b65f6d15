"""What a player is told: the wrapper of the first observation, and the place of a hint (method.md §1.7, §3)."""

from spade_contracts.config.environments import Domain, PromptTemplate
from spade_trainer.design.sections import fill, load_sections

PACKAGE = "spade_trainer.play"


def first_message(observation: str, template: str) -> str:
    """The first user message of an episode; later ones are raw observations.

    template: `games_full`, `games_compact`, or `tools`, which wraps nothing. Raises FileNotFoundError for another name.
    """
    return fill(load_sections(PACKAGE, template)["user"], {"observation": observation})


def template_of(domain: Domain, wording: PromptTemplate) -> str:
    """The template of a domain's first messages; those of tool use have one wording only (method.md §1.7)."""
    return "tools" if domain is Domain.TOOLS else f"games_{wording.value.lower()}"


def with_reminder(observation: str) -> str:
    """An observation with the canonical form of tool calls after it (method.md §5.3)."""
    return fill(load_sections(PACKAGE, "tools")["reminder"], {"observation": observation})


def with_hint(observation: str, hint: str, template: str) -> str:
    """The first observation of a hinted episode, still to be wrapped by `first_message` (method.md §3)."""
    return fill(load_sections(PACKAGE, template)["hint"], {"observation": observation, "hint": hint})
