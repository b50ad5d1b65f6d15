"""The figures of a rollout say what its manifest holds, and its regret is the one that is paid."""

import math
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trainer.builders import method, write_rollout

from spade_contracts.config.method import Profile
from spade_contracts.manifests import EnvironmentReturns, RolloutManifest
from spade_trainer.rewards.regret import Regret
from spade_trainer.rewards.summary import learnable_fraction, mean_hint_regret, mean_return
from spade_trainer.store.objects import open_store

CORRECTED = method().switches
PAPER = method(Profile.PAPER).switches
PAIRS = EnvironmentReturns(
    id="c0000-s000", unhinted=(1.0, 0.0, 0.0), hinted=(1.0, 1.0, 0.0, 0.0, 1.0),
    pairs=((1.0, 1.0), (0.0, 1.0), (0.0, 0.0)),
    environment_faults=0, retired=False,
)  # fmt: skip
ALONE = EnvironmentReturns(
    id="c0000-s001", unhinted=(0.0,), hinted=(1.0,), pairs=((0.0, 1.0),), environment_faults=0, retired=False
)
BARE = EnvironmentReturns(id="c0000-s002", unhinted=(1.0,), hinted=(), environment_faults=0, retired=False)


def rollout(*environments: EnvironmentReturns, **changes: Any) -> RolloutManifest:
    return RolloutManifest(
        rollout=0, cycle=0, policy_version=0, planned=0, outcomes={}, environments=environments,
        verifier_failures={}, episodes=(), **changes,
    )  # fmt: skip


def test_learnable_fraction_and_mean_return_are_of_unhinted_plays(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    played = write_rollout(store, 0, 0, {"c0000-s000": (1.0, 1.0), "c0000-s001": (1.0, 0.0)}, {"c0000-s000": (0.0,)})
    assert (learnable_fraction(played), mean_return(played)) == (0.5, 0.75)
    assert (learnable_fraction(rollout()), mean_return(rollout())) == (None, None)


@pytest.mark.switch("regretEstimator")
def test_mean_regret_is_that_of_the_estimator_that_is_paid() -> None:
    paired = mean_hint_regret(rollout(PAIRS, BARE), CORRECTED)
    offset = mean_hint_regret(rollout(PAIRS, BARE), PAPER)
    assert paired is not None
    assert offset is not None
    assert (paired.value, paired.standard_error) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert offset.value == pytest.approx(3 / 5 - 1 / 3)
    assert offset.standard_error == pytest.approx(math.sqrt(0.3 / 5 + (1 / 3) / 3))


def test_standard_error_is_of_the_mean_over_environments_whose_own_is_known() -> None:
    twin = PAIRS.model_copy(update={"id": "c0000-s003"})
    both = mean_hint_regret(rollout(PAIRS, twin, ALONE), CORRECTED)
    assert both is not None
    assert both.value == pytest.approx((1 / 3 + 1 / 3 + 1) / 3)
    assert both.standard_error == pytest.approx(math.sqrt(2 * (1 / 3) ** 2) / 2)
    assert mean_hint_regret(rollout(ALONE), CORRECTED) == Regret(1.0, None)


def test_without_hinted_plays_or_pairs_there_is_no_regret() -> None:
    unpaired = PAIRS.model_copy(update={"pairs": ()})
    assert mean_hint_regret(rollout(BARE), CORRECTED) is mean_hint_regret(rollout(BARE), PAPER) is None
    assert mean_hint_regret(rollout(unpaired), CORRECTED) is None
    assert mean_hint_regret(rollout(unpaired), PAPER) is not None


def test_manifest_from_before_prefix_checks_were_counted_is_read() -> None:
    counted = rollout(PAIRS, prefix_checks={"exact": 3})
    assert RolloutManifest.model_validate_json(counted.model_dump_json()) == counted
    before = counted.model_dump_json(exclude={"prefix_checks"})
    assert RolloutManifest.model_validate_json(before).prefix_checks == {}
