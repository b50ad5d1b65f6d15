"""Episodes inside a cell: reset, step and solution, passed on with exact types (method.md §2.3, §4.1).

Both domains answer these; what only tool programs have is in `tools`.
"""

from typing import Any

from spade_sandbox.pod.programs.chance import seed
from spade_sandbox.pod.programs.values import InvalidReturn, info, kind, reward, text


def reset(environment: Any, seed_value: int | None, limit_characters: int) -> dict[str, Any]:
    """Begin an episode; a bare string counts as an observation without info (method.md §4.1)."""
    if seed_value is not None:
        seed(seed_value)
    returned = environment.reset(seed=seed_value)
    if type(returned) is str:
        returned = (returned, {})
    if type(returned) is not tuple or len(returned) != 2:
        raise InvalidReturn(f"reset returned {kind(returned)}, not (str, dict)")
    observation = text(returned[0], limit_characters)
    if not observation:
        raise InvalidReturn("reset returned an empty observation")
    return {"op": "reset", "observation": observation, "info": info(returned[1])}


def step(environment: Any, action: str, limit_characters: int) -> dict[str, Any]:
    """One action; the five parts must have exactly the types of the contract."""
    returned = environment.step(action)
    if type(returned) is not tuple or len(returned) != 5:
        raise InvalidReturn(f"step returned {kind(returned)}{_size(returned)}, not a tuple of 5")
    observation, rewarded, terminated, truncated, details = returned
    observation = text(observation, limit_characters)
    if type(terminated) is not bool or type(truncated) is not bool:
        raise InvalidReturn(f"terminated is {kind(terminated)} and truncated is {kind(truncated)}, not bool")
    return {
        "op": "step",
        "observation": observation,
        "reward": reward(rewarded),
        "terminated": terminated,
        "truncated": truncated,
        "info": info(details),
    }


def _size(returned: Any) -> str:
    return f" of {len(returned)}" if type(returned) is tuple else ""


def solution(environment: Any, limit_characters: int) -> dict[str, Any]:
    """The program's own solution text."""
    return {"op": "solution", "text": text(environment.solution(), limit_characters)}
