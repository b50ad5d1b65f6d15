"""When an environment is not played again (design §10): live detectors have shown that it cannot be trusted."""

from collections.abc import Sequence

from spade_contracts.config.switches import EnvironmentFaultCredit
from spade_contracts.verdicts import VerifierFailure
from spade_trainer.store.episodes import Episode


def retires(episodes: Sequence[Episode], credit: EnvironmentFaultCredit) -> bool:
    """Whether these plays of an environment in one rollout are its last.

    Where the designer pays for faults: if it was won with an error, or if the program itself failed in half of its
    plays or more. Where the player pays (Paper), environments are played to the end of their cycle.
    """
    if credit is EnvironmentFaultCredit.PLAYER or not episodes:
        return False
    failed = sum(bool(episode.fault) for episode in episodes)
    won_with_error = any(VerifierFailure.SUCCESS_WITH_ERROR in episode.verifier_failures for episode in episodes)
    return won_with_error or 2 * failed >= len(episodes)
