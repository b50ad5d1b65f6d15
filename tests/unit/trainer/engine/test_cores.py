"""Threads follow the quota of the pod, not the cores of the node."""

import os
from pathlib import Path

import pytest

from spade_trainer.engine.cores import usable_cores

ALLOWED = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("text", "cores"), [("max 100000", ALLOWED), ("100000 100000", 1), ("150000 100000", 1), ("20000 100000", 1)]
)
def test_a_quota_is_rounded_down_to_at_least_one(tmp_path: Path, text: str, cores: int) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert usable_cores(tmp_path) == cores


def test_a_quota_of_the_older_kind_counts_too(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("100000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert usable_cores(tmp_path) == 1
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("-1\n")
    assert usable_cores(tmp_path) == ALLOWED


def test_without_a_cgroup_all_allowed_cores_count(tmp_path: Path) -> None:
    assert usable_cores(tmp_path) == ALLOWED
