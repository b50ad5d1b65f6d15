"""The closing table says of each rollout what storage holds, and no more."""

from pathlib import Path

import pytest
from tests.unit.trainer.builders import design, method, run_manifest, write_cycle, write_rollout, write_step

from spade_trainer.report.rollouts import closing_table
from spade_trainer.store import layout, manifests, timings
from spade_trainer.store.objects import open_store


def test_each_finished_rollout_is_a_row_in_order(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    manifests.write(store, manifests.run_path(), run_manifest(method()))
    write_cycle(store, 0, [design(0, slot, "A") for slot in range(2)])
    names = ["c0000-s000", "c0000-s001"]
    write_rollout(store, 1, 0, {names[0]: (1.0, 1.0), names[1]: (1.0, 0.0)})
    write_rollout(store, 0, 0, {names[0]: (1.0, 1.0), names[1]: (1.0, None)}, {names[0]: (0.5,)})
    write_step(store, 0, ())
    timings.write(store, layout.cycle_folder(0), "design-w0-a00", {"design": 3.0})
    timings.write(store, layout.cycle_folder(0), "design-w1-a00", {"design": 5.0})
    timings.write(store, layout.rollout_folder(0), "play-w0-a00", {"play": 7.0})
    timings.write(store, layout.step_folder(0), "learner", {"train": 2.0})
    first, second = closing_table(store)
    assert (first.rollout, first.cycle, first.environments, first.designed) == (0, 0, 2, 2)
    assert first.learnable_fraction == 0.0
    assert first.mean_return == 1.0
    assert first.hint_regret == pytest.approx(-0.5)
    assert first.stage_seconds == {"design": 5.0, "play": 7.0, "train": 2.0}
    assert (first.policy_version, first.gradient_norm) == (1, 1.0)
    assert (second.rollout, second.designed, second.learnable_fraction) == (1, 0, 0.5)
    assert (second.policy_version, second.loss, second.hint_regret) == (None, None, None)
    assert second.stage_seconds == {}


def test_a_run_without_finished_rollouts_has_no_rows(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    manifests.write(store, manifests.run_path(), run_manifest(method()))
    assert closing_table(store) == ()
