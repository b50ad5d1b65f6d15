"""The recipes have the reference's constants, one by one: method.md §1.3, §1.4, §1.5, §5, §6, §7, §8.1, §8.3, §9."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from spade_cli.check import resolved
from spade_cli.cluster import read_document
from spade_cli.explain import explained
from spade_contracts.config import MethodConfig
from spade_contracts.config.families import ALL_FAMILIES

FOLDER = Path(__file__).parents[3] / "examples" / "recipes"
RECIPES = ("games-4b", "games-8b", "games-30b-a3b", "tools-4b", "tools-8b", "tools-30b-a3b")
Row = tuple[str, str, tuple[object, ...]]

GAMES_SKILLS = (
    "Mathematical Reasoning", "Logical Deduction", "Spatial Reasoning", "Pattern Recognition", "Optimization",
    "Causal Inference",
)  # fmt: skip
TOOLS_SKILLS = (
    "API Orchestration", "Data Retrieval", "State Modification", "Error Recovery", "Tool Selection",
    "Multi-Step Workflows",
)  # fmt: skip


def all_six(value: object) -> tuple[object, ...]:
    return (value,) * 6


def by_domain(games: object, tools: object) -> tuple[object, ...]:
    return (games,) * 3 + (tools,) * 3


CONSTANTS: tuple[Row, ...] = (
    ("§1.3", "environments.cycleLength", (4, 4, 4, 32, 8, 8)),
    ("§1.3", "environments.perCycle", (24, 24, 24, 16, 24, 24)),
    ("§1.3", "play.playsPerEnvironment", (8, 8, 8, 16, 8, 8)),
    ("§1.3", "play.hintedPlays", (16, 16, 16, 4, 16, 16)),
    ("§1.3", "rewards.variant", ("Blend", "Blend", "Blend", "Regret", "Blend", "Blend")),
    ("§1.3", "rewards.learningPotential.varianceBonus", (False, False, False, True, False, False)),
    ("§1.3", "rewards.delayCycles", all_six(1)),
    ("§1.3", "learner.loss.klCoefficient", (0.0, 0.005, 0.0, 0.005, 0.005, 0.005)),
    ("§1.3", "play.truncated", by_domain("Trained", "Masked")),
    ("§1.4", "environments.skills", by_domain(GAMES_SKILLS, TOOLS_SKILLS)),
    ("§1.4", "environments.activeSkills", by_domain(3, 6)),
    ("§1.4", "environments.difficulty", all_six("medium")),
    ("§1.5", "environments.designer.sampling.temperature", all_six(0.6)),
    ("§1.5", "environments.designer.sampling.topP", all_six(0.95)),
    ("§1.5", "environments.designer.sampling.topK", all_six(20)),
    ("§1.5", "environments.designer.sampling.maxNewTokens", (16384, 20000, 16384, 16384, 20000, 16384)),
    ("§1.5", "play.sampling.temperature", all_six(0.6)),
    ("§1.5", "play.sampling.topP", all_six(0.95)),
    ("§1.5", "play.sampling.topK", all_six(20)),
    ("§1.5", "play.sampling.maxNewTokens", all_six(8192)),
    ("§1.5", "environments.hints.sampling.temperature", all_six(0.3)),
    ("§1.5", "environments.hints.sampling.topP", all_six(0.9)),
    ("§1.5", "environments.hints.sampling.topK", all_six(-1)),
    ("§1.5", "environments.hints.sampling.maxNewTokens", (4096, 4096, 4096, 512, 2048, 2048)),
    ("§1.5", "play.contextTokens", all_six(32768)),
    ("§1.5", "play.maxTurns", all_six(25)),
    ("§1.5", "switches.logProbTemperature", all_six("One")),
    ("§1.5", "learner.loss.temperature", (1.0, 1.0, 1.0, 0.7, 1.0, 1.0)),
    ("§1.5", "environments.designer.thinking", ("Disabled", "Enabled", "Disabled", "Disabled", "Enabled", "Disabled")),
    ("§1.5", "play.thinking", ("Disabled", "Enabled", "Disabled", "Disabled", "Enabled", "Disabled")),
    ("§1.5", "switches.designerThinking", all_six("Never")),
    ("§1.3", "environments.verification.stages", by_domain((), ("Judge",))),
    ("§4.3", "environments.verification.judge.source", by_domain("Endpoint", "Policy")),
    ("§1.5", "environments.verification.judge.temperature", by_domain(0.0, 0.3)),
    ("§1.5", "environments.verification.judge.topP", by_domain(1.0, 0.9)),
    ("§1.5", "environments.verification.judge.maxTokens", by_domain(1024, 16384)),
    ("§1.6", "environments.verification.judge.timeoutSeconds", all_six(120.0)),
    ("§1.6", "environments.designer.generationTimeoutSeconds", all_six(300.0)),
    ("§1.6", "environments.designer.attempts", all_six(5)),
    ("§1.6", "environments.hints.attempts", all_six(3)),
    ("§1.6", "play.episodeAttempts", all_six(2)),
    ("§5.4", "rewards.plateau.low", all_six(0.4)),
    ("§5.4", "rewards.plateau.high", all_six(0.6)),
    ("§5.4", "rewards.plateau.ramp", all_six(0.25)),
    ("§5.4", "rewards.plateauWeight", all_six(0.6)),
    ("§5.4", "rewards.regretWeight", all_six(0.4)),
    ("§5.4", "rewards.regretScale", all_six(0.15)),
    ("§5.5", "rewards.designerScaleCap", all_six(50.0)),
    ("§6", "environments.memory.size", all_six(200)),
    ("§6", "environments.memory.positives", all_six(2)),
    ("§6", "environments.memory.negatives", all_six(1)),
    ("§6", "environments.memory.snippetCharacters", all_six(2000)),
    ("§7", "environments.corpus.maxWords", by_domain(6000, 4000)),
    ("§8.1", "learner.optimizer.learningRate", all_six(1e-6)),
    ("§8.1", "learner.optimizer.weightDecay", all_six(0.1)),
    ("§8.1", "learner.optimizer.beta1", all_six(0.9)),
    ("§8.1", "learner.optimizer.beta2", all_six(0.98)),
    ("§8.1", "learner.optimizer.clipGradientNorm", all_six(1.0)),
    ("§8.3", "learner.loss.clipLow", all_six(0.2)),
    ("§8.3", "learner.loss.clipHigh", all_six(0.28)),
    ("§8.4", "learner.loss.importanceLow", all_six(0.0)),
    ("§8.4", "learner.loss.importanceHigh", all_six(2.0)),
    ("§9", "learner.ranks", all_six(8)),
    ("§9", "learner.parallelism.tensor", (2, 2, 4, 2, 2, 4)),
    ("§9", "learner.parallelism.pipeline", all_six(1)),
    ("§9", "learner.parallelism.expert", (1, 1, 8, 1, 1, 8)),
    ("§9", "learner.loss.maxTokensPerMicrobatch", all_six(8192)),
    ("§9", "learner.checkpointEvery", all_six(16)),
)
BASELINES = ("rlve-4b", "rlve-8b", "rlve-30b-a3b")
"""Procedural families (method.md §10)."""
ROLLOUTS = (400, 400, 400, 500, 400, 400)
OF_AN_ENGINE = {"max-model-len": "32768", "gpu-memory-utilization": "0.7"}
OF_THE_LARGE_ENGINE = {"enable-expert-parallel": "true", "disable-custom-all-reduce": "true"}
DEVICES = {"two-gpus": 2, "eight-gpus": 8}
"""Claim template → its devices."""


@cache
def document(recipe: str) -> dict[str, Any]:
    return read_document(str(FOLDER / f"{recipe}.yaml"))


@cache
def method(recipe: str) -> MethodConfig:
    return resolved(document(recipe))


def at(values: Any, path: str) -> object:
    for name in path.split("."):
        values = values[name]
    return values


def test_the_folder_holds_these_recipes_by_their_names() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*RECIPES, *BASELINES}
    assert all(document(recipe)["metadata"]["name"] == recipe for recipe in (*RECIPES, *BASELINES))


@pytest.mark.parametrize(("section", "path", "values"), CONSTANTS, ids=[row[1] for row in CONSTANTS])
def test_constant_is_the_references_in_every_recipe(section: str, path: str, values: tuple[object, ...]) -> None:
    found = tuple(at(method(recipe).model_dump(by_alias=True), path) for recipe in RECIPES)
    assert found == values, section


@pytest.mark.parametrize(("recipe", "rollouts"), list(zip(RECIPES, ROLLOUTS, strict=True)))
def test_rollouts_and_what_follows_from_the_constants(recipe: str, rollouts: int) -> None:
    settings = method(recipe)
    batch = settings.environments.per_cycle * settings.play.plays_per_environment
    assert document(recipe)["spec"]["rollouts"] == rollouts
    assert settings.profile == "Paper"
    assert batch == (256 if recipe == "tools-4b" else 192)
    scale = min(50.0, batch / settings.environments.per_cycle * settings.environments.cycle_length)
    assert scale == (32.0 if recipe.startswith("games") else 50.0)


@pytest.mark.parametrize("recipe", [*RECIPES, *BASELINES])
def test_engines_share_the_learners_eight_devices(recipe: str) -> None:
    spec = document(recipe)["spec"]
    learner, engine = spec["learner"], spec["engine"]
    large = recipe.endswith("30b-a3b")
    devices = DEVICES[learner["deviceClaimTemplate"]]
    assert spec["placement"] == "Colocated"
    assert engine["replicas"] == learner["nodes"] == (1 if large else 4)
    assert (learner["ranksPerNode"], learner["nodes"] * devices) == (devices, 8)
    memory = "0.85" if recipe == "tools-30b-a3b" else "0.7"
    of_its_size = OF_THE_LARGE_ENGINE if large else {}
    wanted = OF_AN_ENGINE | of_its_size | {"gpu-memory-utilization": memory, "tensor-parallel-size": str(devices)}
    assert engine["args"] == wanted


@pytest.mark.parametrize("recipe", [*RECIPES, *BASELINES])
def test_tensor_parallelism_stays_within_a_pod(recipe: str) -> None:
    tensor = method(recipe).learner.parallelism.tensor
    assert document(recipe)["spec"]["learner"]["ranksPerNode"] % tensor == 0


@pytest.mark.parametrize("recipe", RECIPES)
def test_no_setting_gives_entropy_a_coefficient_other_than_the_references_zero(recipe: str) -> None:
    places = {setting.place for setting in explained(document(recipe))}
    assert "learner.loss.klCoefficient" in places
    assert not [place for place in places if "entropy" in place.lower()]


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipe_is_explained(recipe: str) -> None:
    values = {setting.place: setting for setting in explained(document(recipe))}
    assert values["profile"].value == "Paper"
    assert values["environments.domain"].source == "file"


@pytest.mark.parametrize("recipe", BASELINES)
def test_baseline_plays_sixteen_problems_sixteen_times_at_temperature_one(recipe: str) -> None:
    settings = method(recipe)
    environments, play = settings.environments, settings.play
    assert (environments.designer.source, environments.cycle_length) == ("Families", 1)
    assert environments.families.names == ALL_FAMILIES
    assert (environments.per_cycle, play.plays_per_environment) == (16, 16)
    assert (play.sampling.temperature, settings.learner.loss.kl_coefficient) == (1.0, 0.0)
    assert at(settings.model_dump(by_alias=True), "play.thinking") == ("Enabled" if recipe == "rlve-8b" else "Disabled")
