"""Scripted players of mixed skill. They read observations only, so they also play games that a model wrote."""

from dataclasses import dataclass
from random import Random
from typing import Any

from tools.tiny_model.families.base import Family, UnreadableGame


@dataclass(frozen=True)
class Play:
    """One scripted episode. chosen: per reply, whether the expert chose it (else it was a random legal action)."""

    observations: list[str]
    replies: list[str]
    chosen: list[bool]
    rewards: list[float]
    won: bool


def load_environment(program: str) -> Any:
    """An instance of the program's environment class, run in this process: for trusted, generated programs and for the
    children that hold untrusted ones."""
    names: dict[str, Any] = {}
    exec(program, names)  # noqa: S102
    return next(v for k, v in names.items() if k.endswith("Env") and isinstance(v, type))()


def scripted_play(environment: Any, family: Family, seed: int, error_rate: float, rng: Random, turns: int = 12) -> Play:
    """One episode of a scripted player that errs with probability error_rate, by a random legal action."""
    observation = environment.reset(seed=seed)[0]
    observations, won = [observation], False
    replies: list[str] = []
    chosen: list[bool] = []
    actions: list[str] = []
    rewards: list[float] = []
    for _ in range(turns):
        good = rng.random() >= error_rate
        try:
            reply = family.expert(observations, actions, rng)
            thought, action = reply.thought, reply.action
            if not good:
                thought, action = "A guess.", rng.choice(family.legal(observations[-1]))
        except (UnreadableGame, IndexError, ValueError):
            good, thought, action = False, "A guess.", "1"
        observation, reward, won, truncated, _ = environment.step(f"\\boxed{{{action}}}")
        observations.append(observation)
        actions.append(action)
        replies.append(f"{thought} \\boxed{{{action}}}")
        chosen.append(good)
        rewards.append(reward)
        if won or truncated:
            break
    return Play(observations, replies, chosen, rewards, won)
