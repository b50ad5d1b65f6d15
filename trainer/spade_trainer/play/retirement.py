"""When an environment is not played again (design §10): its own plays have shown that it cannot be trusted."""

from collections.abc import Collection, Sequence

from spade_contracts.config import MethodConfig
from spade_contracts.config.play import Retirement
from spade_contracts.config.switches import EnvironmentFaultCredit
from spade_contracts.verdicts import VerifierFailure
from spade_sandbox.verify import Play, contradictions
from spade_sandbox.verify.moves import FULL_REWARD
from spade_trainer.store.episodes import Episode


def suspicions(episodes: Sequence[Episode]) -> tuple[VerifierFailure, ...]:
    """What the plays of one environment in one rollout show against its verifier, hinted ones included."""
    errors = any(VerifierFailure.SUCCESS_WITH_ERROR in episode.verifier_failures for episode in episodes)
    plays = [
        Play(e.seed, e.actions[: e.turns], e.observations[1:], e.terminated and e.rewards[-1] >= FULL_REWARD)
        for e in episodes
        if e.turns
    ]
    return (*([VerifierFailure.SUCCESS_WITH_ERROR] if errors else []), *contradictions(plays))


def retires(method: MethodConfig, episodes: Sequence[Episode], suspect: Collection[VerifierFailure]) -> bool:
    """Whether these plays of an environment in one rollout are its last (setting play.retire).

    Programs that fail in half of their plays or more go too where the designer pays for faults.
    """
    if method.play.retire is Retirement.NEVER or not episodes:
        return False
    if method.play.retire is Retirement.SUSPECT and suspect:
        return True
    if set(suspect) - {VerifierFailure.REWARD_CONCENTRATION}:
        return True
    failed = sum(bool(episode.fault) for episode in episodes)
    designer_pays = method.switches.environment_fault_credit is EnvironmentFaultCredit.DESIGNER
    return designer_pays and 2 * failed >= len(episodes)
