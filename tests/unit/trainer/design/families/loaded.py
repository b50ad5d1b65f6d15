"""Environments of families without a sandbox: the programs are ours."""

from typing import Any

from spade_contracts.config.families import Family
from spade_trainer.design.procedural import family_program


def environment(family: Family, difficulty: int, seed: int = 0) -> Any:
    """A live environment, reset from a seed; its problem stands in its attributes."""
    names: dict[str, Any] = {}
    exec(compile(family_program(family, difficulty), "program.py", "exec"), names)
    made = next(value for name, value in names.items() if name.endswith("Env"))()
    made.reset(seed=seed)
    return made


def boxed(answer: object) -> str:
    return f"\\boxed{{{answer}}}"


def wins(made: Any, answer: object) -> bool:
    """Whether an answer earns the full reward; an episode ends with its one step either way."""
    _, reward, terminated, truncated, _ = made.step(boxed(answer))
    assert terminated
    assert not truncated
    assert reward in (0.0, 1.0)
    return bool(reward)
