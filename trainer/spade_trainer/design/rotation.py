"""Which skills a cycle trains (method.md §1.4)."""

from collections.abc import Sequence


def active_skills(skills: Sequence[str], cycle: int, count: int) -> tuple[str, ...]:
    """The skills of a cycle: `count` consecutive names, moving on by as many each cycle and wrapping around.

    As many as there are, or more: all of them in every cycle. Vector V16.
    """
    if count >= len(skills):
        return tuple(skills)
    start = cycle * count
    return tuple(skills[(start + offset) % len(skills)] for offset in range(count))


def skill_of(skills: Sequence[str], cycle: int, count: int, slot: int) -> str:
    """The skill that a slot of a cycle targets."""
    active = active_skills(skills, cycle, count)
    return active[slot % len(active)]
