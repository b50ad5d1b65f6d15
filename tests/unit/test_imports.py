"""Each package imports with the libraries of its extra alone, and with no package of ours that its image lacks."""

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = ("spade_contracts", "spade_sandbox", "spade_trainer", "spade_operator", "spade_cli")
WITH_TORCH = ("spade_trainer.learner",)
"""The only package whose modules import torch when they are imported; others do where they need it, if at all."""
IMPORT_ALL = """
import importlib, json, pkgutil, sys
from importlib.machinery import PathFinder

wanted, hidden = (tuple(names) for names in json.load(sys.stdin))

class WithoutHidden(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if any(name == part or name.startswith(part + ".") for part in hidden):
            return None
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutHidden
for name in wanted:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not any((module.name + ".").startswith(part + ".") for part in hidden):
            importlib.import_module(module.name)
"""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def distributions(extra: str) -> frozenset[str]:
    """Distributions that an installation with this extra has; '' is one without extras."""
    waiting = [Requirement(f"{PROJECT['name']}[{extra}]" if extra else PROJECT["name"])]
    done: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        for part in {"", *requirement.extras}:
            name = normal(requirement.name)
            if (name, part) not in done:
                done.add((name, part))
                waiting += needs(name, part)
    return frozenset(name for name, _ in done)


def needs(name: str, extra: str) -> list[Requirement]:
    """What a distribution requires on this machine, for one of its extras."""
    if name == PROJECT["name"]:
        listed = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    else:
        try:
            listed = metadata.distribution(name).requires or []
        except metadata.PackageNotFoundError:
            return []
    requirements = [Requirement(line) for line in listed]
    return [r for r in requirements if r.marker is None or r.marker.evaluate({"extra": extra})]


@cache
def modules() -> dict[str, frozenset[str]]:
    """Installed top-level module → distributions that bring it."""
    found = metadata.packages_distributions()
    return {module: frozenset(map(normal, names)) for module, names in found.items()}


@pytest.mark.parametrize(
    ("wanted", "extra", "absent"),
    [
        (("spade_contracts",), "", ()),
        (("spade_contracts", "spade_sandbox.pod"), "sandbox", ("spade_sandbox.client", "spade_sandbox.verify")),
        (
            ("spade_contracts", "spade_sandbox.client", "spade_sandbox.adapters"),
            "adapters",
            ("spade_sandbox.pod", "spade_sandbox.verify"),
        ),
        (("spade_contracts", "spade_operator"), "operator", ()),
        (
            ("spade_contracts", "spade_sandbox.client", "spade_sandbox.verify", "spade_trainer"),
            "worker",
            ("spade_sandbox.pod", *WITH_TORCH),
        ),
        (("spade_contracts", "spade_sandbox.client", "spade_trainer"), "trainer", ("spade_sandbox.pod",)),
        (
            ("spade_contracts", "spade_operator", "spade_sandbox", "spade_trainer", "spade_cli"),
            "cli",
            ("spade_sandbox.adapters", *WITH_TORCH),
        ),
    ],
    ids=["contracts", "sandbox", "adapters", "operator", "worker", "trainer", "cli"],
)
def test_package_imports_with_its_extra_alone(wanted: tuple[str, ...], extra: str, absent: tuple[str, ...]) -> None:
    had = distributions(extra)
    foreign = [module for module, bringers in modules().items() if not bringers & had]
    strangers = [name for name in OURS if not any(part.split(".")[0] == name for part in wanted)]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        input=json.dumps([wanted, [*foreign, *strangers, *absent]]),
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_library_of_another_extra_is_really_hidden() -> None:
    assert "torch" in modules()
    assert not distributions("operator") & modules()["torch"]
    hidden = ["torch"]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        input=json.dumps([["torch"], hidden]),
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "No module named 'torch'" in done.stderr
