"""Live detectors: how an episode shows that its environment's verifier is wrong (design §10)."""

import re
from collections.abc import Sequence

from spade_contracts.config.switches import EnvironmentFaultCredit
from spade_contracts.verdicts import VerifierFailure
from spade_trainer.store.episodes import Episode

FULL_REWARD = 1.0
_ERROR_TEXT = re.compile(
    r"^\s*(internal )?error\b|traceback \(most recent call last\)|^\s*\w*(error|exception):", re.I | re.M
)
_ERROR_KEYS = frozenset({"error", "exception", "traceback"})


def reports_error(observation: str, info_keys: Sequence[str]) -> bool:
    """Whether what an environment said to an action tells of an error of its own."""
    return bool(_ERROR_TEXT.search(observation)) or any(key.lower() in _ERROR_KEYS for key in info_keys)


def success_with_error(reward: float, terminated: bool, observation: str, info_keys: Sequence[str]) -> bool:
    """Whether a step won in full while it reported an error: nothing that fails may win."""
    return terminated and reward >= FULL_REWARD and reports_error(observation, info_keys)


def retires(episodes: Sequence[Episode], credit: EnvironmentFaultCredit) -> bool:
    """Whether an environment is not to be played again after these plays.

    Where the designer pays for faults: if its verifier was won with an error, or if the program itself failed in half
    of its plays or more. Where the player pays (Paper), environments are played to the end of their cycle.
    """
    if credit is EnvironmentFaultCredit.PLAYER or not episodes:
        return False
    failed = sum(bool(episode.fault) for episode in episodes)
    won_with_error = any(VerifierFailure.SUCCESS_WITH_ERROR in episode.verifier_failures for episode in episodes)
    return won_with_error or 2 * failed >= len(episodes)
