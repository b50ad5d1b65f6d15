"""The learner's metrics show what the latest batch was made of."""

from pathlib import Path

from tests.unit.trainer.builders import method, run_manifest
from tests.unit.trainer.test_assembly import small_run

from spade_contracts.config.method import Profile
from spade_contracts.statuses import StepFigures
from spade_trainer.assembly import assemble
from spade_trainer.learner.figures import KINDS, new_figures

STEP = StepFigures(
    rollout=2,
    loss=0.0,
    gradient_norm=1.0,
    kl=0.0,
    importance_mean=1.0,
    importance_clipped_fraction=0.0,
    player_samples=12,
    designer_samples=4,
    tokens=1,
    seconds=1.0,
)


def test_samples_are_counted_by_kind_from_zero(tmp_path: Path) -> None:
    figures = new_figures()
    shown = {kind: figures.registry.get_sample_value("spade_step_samples", {"kind": kind}) for kind in KINDS}
    assert shown == dict.fromkeys(KINDS, 0.0)
    batch = assemble(small_run(tmp_path), run_manifest(method(Profile.PAPER)), 2)
    figures.stepped(STEP, batch.designer_reward_mean, batch.counts)
    assert set(batch.counts) == set(KINDS)
    counted = {kind: figures.registry.get_sample_value("spade_step_samples", {"kind": kind}) for kind in KINDS}
    assert counted == {"player": 12, "designer": 4, "repeat": 0, "trimmed": 4, "padding": 0, "masked": 0, "alone": 0}
