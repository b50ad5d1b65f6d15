"""What a prompt for tool environments is about besides its skill: a service and a kind of task (method.md §2.5).

Both are drawn for each try. The reference draws them from a generator that nobody seeded (D18); here they follow from
the run's seed and the place.
"""

from dataclasses import dataclass

from spade_trainer.design.draws import Choose
from spade_trainer.design.sections import load_sections

PACKAGE = "spade_trainer.design"
VARIANT_WEIGHTS: dict[str, int] = {"execute": 3, "read then write": 2, "missing value": 1, "irrelevant": 1}
"""Task variants by how often each is drawn."""


@dataclass(frozen=True)
class Brief:
    """One service and one kind of task: their names, and the words that a prompt uses."""

    domain: str
    domain_text: str
    variant: str
    variant_text: str


def domains() -> tuple[str, ...]:
    """Names of the services, ten of them."""
    return tuple(load_sections(PACKAGE, "tools_domains"))


def draw_brief(choose: Choose) -> Brief:
    """A service, each as likely as the others, and then a task variant by its weight."""
    services, variants = load_sections(PACKAGE, "tools_domains"), load_sections(PACKAGE, "tools_variants")
    domain = tuple(services)[choose(len(services), 1)[0]]
    tickets = [name for name, weight in VARIANT_WEIGHTS.items() for _ in range(weight)]
    variant = tickets[choose(len(tickets), 1)[0]]
    return Brief(domain, services[domain], variant, variants[variant])


def sketches(skill: str) -> str:
    """The example tasks of a tool skill, one a line. Raises KeyError for another skill."""
    return load_sections(PACKAGE, "tools_skills")[skill]


def draw_ideas(skill: str, choose: Choose, count: int = 3) -> tuple[str, ...]:
    """Ideas for a game of the skill, of the four that there are (method.md §2.4). Raises KeyError for another skill."""
    ideas = load_sections(PACKAGE, "games_ideas")[skill].splitlines()
    return tuple(ideas[index] for index in choose(len(ideas), count))
