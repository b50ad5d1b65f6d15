"""Where images are pushed to is checked before anything is built."""

import subprocess
from pathlib import Path

import pytest

PUSH = Path(__file__).parents[3] / "cluster" / "push"


@pytest.mark.parametrize("place", ["https://r.example.org", "r.example.org/spade:1", "Registry/x", "a//b"])
def test_what_is_no_place_for_images_is_refused(place: str) -> None:
    done = subprocess.run([PUSH, place], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert "is no place for images" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--plain-http"], ["--other", "r.example.org"]])
def test_command_without_a_place_tells_its_usage(arguments: list[str]) -> None:
    done = subprocess.run([PUSH, *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert "usage: cluster/push" in done.stderr
