"""What a player is told: the wrapper of the first observation, and the place of a hint (method.md §1.7, §3)."""

from spade_trainer.design.sections import fill, load_sections

PACKAGE = "spade_trainer.play"


def first_message(observation: str, template: str) -> str:
    """The first user message of an episode; later ones are raw observations.

    template: `games_full` or `games_compact`. Raises FileNotFoundError for another name."""
    return fill(load_sections(PACKAGE, template)["user"], {"observation": observation})


def with_hint(observation: str, hint: str, template: str) -> str:
    """The first observation of a hinted episode, still to be wrapped by `first_message` (method.md §3)."""
    return fill(load_sections(PACKAGE, template)["hint"], {"observation": observation, "hint": hint})
