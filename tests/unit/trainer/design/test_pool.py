"""A fixed pool is the one that the run names, and gives each of its programs once before any twice."""

import hashlib
import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config.environments import PoolConfig
from spade_contracts.errors import InvalidInput
from spade_sandbox.verify.parse import check_source
from spade_trainer.design.pool import PoolChanged, PoolNotFound, pool_draws, read_pool
from spade_trainer.store.programs import read_with_digest


@given(st.integers(0, 99), st.integers(1, 60), st.integers(1, 24), st.integers(0, 12))
def test_no_cycle_has_a_program_twice_and_each_is_as_full_as_the_pool_allows(
    seed: int, size: int, per_cycle: int, cycle: int
) -> None:
    drawn = pool_draws(seed, size, per_cycle, cycle)
    assert len(set(drawn)) == len(drawn) == min(per_cycle, size)
    assert set(drawn) <= set(range(size))
    assert drawn == pool_draws(seed, size, per_cycle, cycle)


@given(st.integers(0, 99), st.integers(1, 60), st.integers(1, 24))
def test_every_program_is_played_once_before_any_is_played_twice(seed: int, size: int, per_cycle: int) -> None:
    count = min(per_cycle, size)
    first_round = [index for cycle in range(size // count) for index in pool_draws(seed, size, per_cycle, cycle)]
    assert len(set(first_round)) == len(first_round)


@given(st.integers(0, 9), st.integers(1, 40), st.integers(1, 12))
def test_over_a_run_all_programs_are_played_alike(seed: int, size: int, per_cycle: int) -> None:
    counts = Counter(index for cycle in range(30) for index in pool_draws(seed, size, per_cycle, cycle))
    played = [counts[index] for index in range(size)]
    assert max(played) - min(played) <= 2


def test_published_pool_is_gone_through_once_before_the_last_fifth_of_a_run() -> None:
    whole = 7872 // 24
    seen = {index for cycle in (0, 1, whole - 1) for index in pool_draws(42, 7872, 24, cycle)}
    again = pool_draws(42, 7872, 24, whole)
    assert len(seen) == 72
    assert len(set(again)) == 24


def digest_of(path: Path) -> str:
    return read_with_digest(path.as_uri())[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pool = tmp_path / "pool"
    (pool / "step_3").mkdir(parents=True)
    (pool / "game_00001_002_optimization.py").write_text('"""A game."""\nclass OneEnv: ...\n')
    (pool / "step_3" / "game_00003_000_spatial_reasoning.py").write_text("class TwoEnv: ...\n")
    (pool / "README.md").write_text("Programs.")
    return pool


def test_digest_of_a_folder_is_what_sha256sum_makes_of_its_listing(folder: Path) -> None:
    listing = subprocess.run(
        "sha256sum $(find . -name '*.py' -printf '%P\\n' | LC_ALL=C sort) | sha256sum",
        shell=True,
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    digest = listing.split()[0]
    assert digest_of(folder) == digest
    programs = read_pool(PoolConfig(uri=folder.as_uri(), sha256=digest))
    assert [program.name for program in programs] == [
        "game_00001_002_optimization.py",
        "step_3/game_00003_000_spatial_reasoning.py",
    ]


def test_digest_of_a_file_is_its_own(tmp_path: Path) -> None:
    file = tmp_path / "pool.jsonl"
    file.write_text(json.dumps({"program": "class AEnv: ...\n", "name": "a"}) + "\n")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    (program,) = read_pool(PoolConfig(uri=file.as_uri(), sha256=digest))
    assert program.content == b"class AEnv: ...\n"


def test_programs_of_the_published_form_load_unchanged(tmp_path: Path) -> None:
    program = '"""Game 3 of rollout 12: Optimization."""\nimport math\n\n\nclass ToyEnv(Env):\n    pass\n'
    (tmp_path / "game_00012_003_optimization.py").write_text(program)
    digest = digest_of(tmp_path)
    (found,) = read_pool(PoolConfig(uri=tmp_path.as_uri(), sha256=digest))
    assert check_source(found.content, 100_000) == program


@pytest.mark.parametrize("change", ["edited", "added", "renamed", "removed"])
def test_another_pool_is_refused_and_the_message_has_its_digest(folder: Path, change: str) -> None:
    digest = digest_of(folder)
    game = folder / "game_00001_002_optimization.py"
    match change:
        case "edited":
            game.write_text("class OneEnv: pass\n")
        case "added":
            (folder / "game_2.py").write_text("")
        case "renamed":
            game.rename(folder / "game_9.py")
        case "removed":
            game.unlink()
    found = digest_of(folder)
    with pytest.raises(PoolChanged, match=found):
        read_pool(PoolConfig(uri=folder.as_uri(), sha256=digest))


def test_pool_that_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for uri in ((tmp_path / "none").as_uri(), (tmp_path / "empty").as_uri(), "nonsense://x"):
        with pytest.raises(PoolNotFound) as caught:
            read_pool(PoolConfig(uri=uri, sha256="0" * 64))
        assert isinstance(caught.value, InvalidInput)
        assert caught.value.where == "environments.designer.pool.uri"
