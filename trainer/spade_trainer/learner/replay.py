"""Whether a replayed step is the recorded one (design §7)."""

from spade_contracts.errors import SpadeError
from spade_contracts.manifests import StepManifest


class ReplayDiverged(SpadeError):
    """A replayed step did not give what its manifest records."""

    def __init__(self, rollout: int, what: str) -> None:
        self.rollout = rollout
        super().__init__(
            f"the replay of the step on rollout {rollout} gave {what} than its manifest records.",
            remedy="Replay is exact only with the ranks, threads, image and kind of machine of the recorded step.",
        )


def compare(recorded: StepManifest, replayed: StepManifest) -> None:
    """Raise ReplayDiverged unless a replayed step used the recorded samples and gave the recorded parameters."""
    if recorded.samples_sha256 != replayed.samples_sha256:
        raise ReplayDiverged(recorded.rollout, "other samples")
    if recorded.parameter_sha256 != replayed.parameter_sha256:
        ranks = f" (on {replayed.world_size} ranks, recorded on {recorded.world_size})"
        raise ReplayDiverged(
            recorded.rollout, "other parameters" + (ranks if replayed.world_size != recorded.world_size else "")
        )
