"""A record is known for an episode's or a verdict's by its columns, and an episode is read where it lies."""

from pathlib import Path

import pytest

from spade_cli.episodes import is_episode, read_recorded
from spade_contracts.errors import InvalidInput
from spade_trainer.store import designs, episodes


def test_row_of_an_episode_is_known_by_its_columns() -> None:
    assert is_episode(dict.fromkeys(episodes.columns().names))
    assert not is_episode(dict.fromkeys(designs.columns().names))


@pytest.mark.parametrize("place", ["episodes.parquet", "rollouts/episodes.parquet", "cycles/0001/episodes.parquet"])
def test_episode_outside_of_run_storage_has_no_environment(tmp_path: Path, place: str) -> None:
    with pytest.raises(InvalidInput, match="run's storage"):
        read_recorded(str(tmp_path / place), {"environment": "c0000-s000", "play": 0, "hinted": False})
