"""Each ablation is its recipe with the named fields changed and nothing else, before and after the profile fills in."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from spade_cli.check import resolved
from spade_cli.cluster import read_document
from spade_trainer.design.request import template_name

EXAMPLES = Path(__file__).parents[3] / "examples"
FOLDER = EXAMPLES / "ablations"
Patch = Mapping[str, object]
GAMES, GAMES_4B, GAMES_8B = "games-30b-a3b", "games-4b", "games-8b"
FIXED_POOL: Patch = {
    "environments.designer.source": "Pool",
    "environments.designer.pool.uri": "file:///storage/pools/fixed.jsonl",
    "environments.designer.pool.sha256": "0" * 64,
    "environments.cycleLength": 1,
    "play.hintedPlays": 0,
}

ABLATIONS: dict[str, tuple[str, Patch]] = {
    "no-memory": (GAMES, {"environments.memory.size": 0}),
    "no-corpus": (GAMES, {"environments.corpus.uri": ""}),
    "no-corpus-same-contract": (
        GAMES,
        {"environments.corpus.uri": "", "switches.designerWithoutCorpus": "SameContract"},
    ),
    "no-designer-training": (GAMES, {"rewards.trainDesigner": False}),
    "no-designer-training-no-memory": (GAMES, {"rewards.trainDesigner": False, "environments.memory.size": 0}),
    "learning-potential": (GAMES, {"rewards.variant": "LearningPotential", "play.hintedPlays": 0}),
    "solve-rate": (GAMES, {"rewards.variant": "SolveRate"}),
    "two-skills": (
        GAMES,
        {"environments.skills": ["Mathematical Reasoning", "Pattern Recognition"], "environments.activeSkills": 2},
    ),
    "regret-variance": (GAMES_8B, {"rewards.variant": "Regret", "rewards.learningPotential.varianceBonus": True}),
    "pure-regret": (GAMES, {"rewards.variant": "Regret"}),
    "equal-compute": (
        GAMES,
        {"rewards.variant": "SolveRate", "play.playsPerEnvironment": 12, "play.hintedPlays": 0},
    ),
    "frozen-designer": (
        GAMES,
        {
            "environments.designer.source": "Endpoint",
            "environments.designer.endpoint.url": "http://frozen-designer.default.svc:8000/v1",
            "environments.designer.endpoint.model": "Qwen3-30B-A3B-Instruct-2507",
        },
    ),
    "sparse-contract": (GAMES, {"environments.designer.contract": "OtherContract"}),
    "fixed-pool": (GAMES, FIXED_POOL),
    "fixed-pool-4b": (GAMES_4B, FIXED_POOL),
    "fixed-pool-8b": (GAMES_8B, FIXED_POOL),
}
"""File → its recipe, and what it changes (method.md §10)."""
every = pytest.mark.parametrize("name", ABLATIONS)


@cache
def document(path: Path) -> dict[str, Any]:
    return read_document(str(path))


def ablation(name: str) -> dict[str, Any]:
    return document(FOLDER / f"{name}.yaml")


def recipe(name: str) -> dict[str, Any]:
    return document(EXAMPLES / "recipes" / f"{ABLATIONS[name][0]}.yaml")


def leaves(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    for name, inner in values.items():
        if isinstance(inner, dict):
            yield from leaves(inner, f"{above}{name}.")
        else:
            yield f"{above}{name}", list(inner) if isinstance(inner, tuple) else inner


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, object]:
    """Leaves of `after` that `before` has otherwise or not at all; what went missing stands for None."""
    old, new = dict(leaves(before)), dict(leaves(after))
    return {path: new.get(path) for path in old | new if path not in old or old[path] != new.get(path)}


def test_every_file_of_the_folder_is_held_to_its_recipe() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(ABLATIONS)


@every
def test_the_file_is_its_recipe_with_these_fields(name: str) -> None:
    assert changed(recipe(name)["spec"], ablation(name)["spec"]) == ABLATIONS[name][1]
    assert ablation(name)["metadata"] == {"name": name}


@every
def test_the_run_differs_in_these_settings_alone(name: str) -> None:
    before, after = (resolved(one).model_dump(by_alias=True, mode="json") for one in (recipe(name), ablation(name)))
    assert changed(before, after) == ABLATIONS[name][1]


@every
def test_the_page_names_the_recipe_and_exactly_these_fields(name: str) -> None:
    (row,) = re.findall(rf"^\| \[{name}\.yaml\].*$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    _, _, base, fields, *_ = row.split("|")
    assert base.strip() == ABLATIONS[name][0]
    assert set(re.findall(r"`([^`]+)`", fields)) == set(ABLATIONS[name][1])


@every
def test_the_file_says_what_it_changes(name: str) -> None:
    comment = " ".join(
        line.removeprefix("#").strip()
        for line in (FOLDER / f"{name}.yaml").read_text().splitlines()
        if line.startswith("#")
    )
    said = comment.rpartition(f"examples/recipes/{ABLATIONS[name][0]}.yaml with: ")[2].removesuffix(".")
    assert set(said.split(", ")) == set(ABLATIONS[name][1])


def test_corpus_and_contract_are_changed_one_at_a_time_and_together() -> None:
    def cell(document: dict[str, Any]) -> tuple[bool, str]:
        method = resolved(document)
        return bool(method.environments.corpus.uri), template_name(method)

    names = ("no-corpus-same-contract", "sparse-contract", "no-corpus")
    assert [cell(recipe(names[0])), *(cell(ablation(name)) for name in names)] == [
        (True, "games_full"),
        (False, "games_full"),
        (True, "games_sparse_full"),
        (False, "games_sparse_full"),
    ]


def test_equal_compute_has_as_many_plays_in_a_cycle_as_its_recipe() -> None:
    def plays(document: dict[str, Any]) -> int:
        method = resolved(document)
        return method.environments.cycle_length * method.play.plays_per_environment + method.play.hinted_plays

    assert plays(ablation("equal-compute")) == plays(recipe("equal-compute")) == 48
