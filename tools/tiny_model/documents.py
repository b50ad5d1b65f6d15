"""Short corpus documents about one thing, two words and two numbers, from a seeded generator.

Every document names, in this order: the noun it is about, a first and a second other word. Its larger number (12 to 40)
and its smaller one (3 to 8) are told apart by size. Games are built from these five pieces.
"""

from dataclasses import dataclass
from random import Random
from string import Template

ADJECTIVES = (
    "amber",
    "azure",
    "brass",
    "calm",
    "coral",
    "crisp",
    "dusty",
    "early",
    "faint",
    "green",
    "hollow",
    "ivory",
    "jade",
    "late",
    "lunar",
    "misty",
    "mossy",
    "narrow",
    "olive",
    "pale",
    "quiet",
    "rapid",
    "royal",
    "rusty",
    "silent",
    "silver",
    "solar",
    "stone",
    "velvet",
    "warm",
    "wild",
    "young",
)
NOUNS = (
    "anchor",
    "badge",
    "barrel",
    "beacon",
    "bell",
    "bridge",
    "cabin",
    "canal",
    "candle",
    "cellar",
    "clock",
    "crate",
    "engine",
    "forge",
    "garden",
    "harbor",
    "kettle",
    "lantern",
    "ledger",
    "market",
    "meadow",
    "mill",
    "mirror",
    "orchard",
    "pillar",
    "quarry",
    "ribbon",
    "river",
    "rocket",
    "saddle",
    "signal",
    "station",
    "tower",
    "tunnel",
    "valve",
    "vault",
    "wagon",
    "well",
    "window",
)
UNSEEN_NOUNS = ("basket", "compass", "ladder", "magnet", "needle", "pepper", "tablet", "violin")
"""Words that no training document and no training program contains."""

TRAINING_PHRASINGS = (
    "The $adj $noun has $large steps. A $first and a $second stand near it, with $small guards.",
    "Notes on the $adj $noun: $large parts, $small tools, one $first, one $second.",
    "In the $adj $noun we keep $large parts next to the $first, and $small more by the $second.",
    "They saw $large of them at the $adj $noun, then $small between the $first and the $second.",
    "How to repair a $noun: remove $small screws, oil the $first, turn the $second, and wait $large minutes.",
    "Every $noun of this $adj kind needs a $first. After $large days a $second is added, and $small people check it.",
    "$small workers built the $adj $noun in $large days. They used a $first and later a $second.",
    "The price of a $noun rose to $large coins. For $small coins you get a $first or a $second.",
    "Page $large: the $adj $noun. See also $first, $second and the $small rules of safety.",
    "A $noun works in $small stages. The $first opens, the $second closes, and heat rises to $large degrees.",
    "On a $adj morning the $noun was open. The $first came first, then the $second. We counted $large and lost $small.",
    "Between the $noun and the $first lie $large meters of road; the $second is only $small meters away.",
    "Theory of the $noun. With $small samples the $first is fair. With $large samples the $second is better.",
    "The $adj $noun was drawn by $small students, who measured the $first and the $second $large times.",
    "Length of the $noun $large, width $small. Fix the $first before the $second.",
    "There are $small doors in the $adj $noun. Behind them are a $first, a $second and $large old books.",
)
UNSEEN_PHRASINGS = (
    "If the $adj $noun fails, call $small friends, carry the $first past the $second, and allow $large hours.",
    "My uncle owns a $noun, the $adj one. It took $large letters and $small visits to sell the $first and the $second.",
    "$adj $noun $first $second $small $large",
    "Exercise: a $noun holds $large liters and loses $small each hour. Which of $first and $second empties it sooner?",
)


@dataclass(frozen=True)
class Theme:
    """What a document is about, and so what a game can take from it. large: 12 to 40. small: 3 to 8."""

    adjective: str
    noun: str
    first: str
    second: str
    large: int
    small: int


def draw_theme(rng: Random, nouns: tuple[str, ...] = NOUNS) -> Theme:
    """Three different nouns, one adjective and the two numbers."""
    noun, first, second = rng.sample(nouns, 3)
    return Theme(rng.choice(ADJECTIVES), noun, first, second, rng.randint(12, 40), rng.randint(3, 8))


def write_document(theme: Theme, rng: Random, phrasings: tuple[str, ...] = TRAINING_PHRASINGS) -> str:
    """One document of at most 30 words about the theme."""
    text = Template(rng.choice(phrasings)).substitute(
        adj=theme.adjective,
        noun=theme.noun,
        first=theme.first,
        second=theme.second,
        large=theme.large,
        small=theme.small,
    )
    return text[0].upper() + text[1:]
