"""A replayed step must have used the recorded samples and given the recorded parameters."""

from typing import Any

import pytest

from spade_contracts.manifests import StepManifest
from spade_trainer.learner.replay import ReplayDiverged, compare


def step(**changes: Any) -> StepManifest:
    values = {
        "rollout": 3,
        "policy_version": 4,
        "player_samples": 1,
        "designer_samples": 0,
        "samples_sha256": "a" * 64,
        "loss": 0.5,
        "gradient_norm": 1.0,
        "kl": 0.0,
        "importance_mean": 1.0,
        "importance_clipped_fraction": 0.0,
        "tokens": 9,
        "parameter_sha256": "b" * 64,
        "world_size": 2,
    }
    return StepManifest.model_validate(values | changes)


def test_an_equal_replay_passes() -> None:
    compare(step(), step())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"samples_sha256": "c" * 64}, "other samples"),
        ({"parameter_sha256": "c" * 64}, "other parameters"),
        ({"parameter_sha256": "c" * 64, "world_size": 1}, "on 1 ranks, recorded on 2"),
    ],
)
def test_a_replay_that_differs_names_its_rollout_and_what_differs(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ReplayDiverged, match=says) as error:
        compare(step(), step(**changes))
    assert error.value.rollout == 3
    assert error.value.permanent
