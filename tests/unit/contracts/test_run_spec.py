"""A run's spec resolves to settings: the profile fills what is left out, and impossible wholes are refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from spade_contracts.config.method import Profile
from spade_contracts.errors import InvalidInput
from spade_contracts.resources import EnvBatchSpec, SpadeRunSpec

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def spec(**settings: Any) -> SpadeRunSpec:
    return SpadeRunSpec.model_validate({"model": {"uri": "package:tiny"}, "rollouts": 4, **settings})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_resolve(path: Path) -> None:
    (manifest,) = (d for d in yaml.safe_load_all(path.read_text()) if d["apiVersion"].startswith("spade.dev/"))
    assert manifest["metadata"]["name"] == path.stem
    if manifest["kind"] == "EnvBatch":
        batch = EnvBatchSpec.model_validate(manifest["spec"])
        assert batch.settings().max_steps
        assert batch.limits().cpu_seconds == manifest["spec"]["sandbox"]["limits"]["cpuSeconds"]
        return
    method = SpadeRunSpec.model_validate(manifest["spec"]).method()
    assert method.environments.active_skills <= len(method.environments.skills)


def test_the_demonstration_trains_delayed_designer_samples() -> None:
    manifest = yaml.safe_load((ROOT / "examples" / "mini.yaml").read_text())
    run = SpadeRunSpec.model_validate(manifest["spec"])
    method = run.method()
    assert run.rollouts > method.environments.cycle_length
    assert (method.learner.ranks, method.learner.parallelism.expert) == (2, 2)
    assert method.environments.designer.sampling.max_new_tokens + 400 < int(run.engine.args["max-model-len"])
    assert method.play.context_tokens < int(run.engine.args["max-model-len"])


@pytest.mark.parametrize("profile", Profile)
def test_a_profile_fills_in_everything(profile: Profile) -> None:
    method = spec(profile=profile).method()
    assert method.profile is profile
    assert method.learner.ranks == 1


def test_what_is_written_wins_over_the_profile() -> None:
    method = spec(seed=3, play={"sampling": {"maxNewTokens": 8}}, sandbox={"limits": {"cpuSeconds": 9}}).method()
    assert (method.seed, method.play.sampling.max_new_tokens, method.limits.cpu_seconds) == (3, 8, 9)
    assert method.play.sampling.temperature == 0.6


def test_ranks_are_nodes_times_ranks_per_node() -> None:
    run = spec(learner={"nodes": 2, "ranksPerNode": 4, "parallelism": {"tensor": 2}})
    assert run.method().learner.ranks == 8
    assert run.method().learner.parallelism.sequence


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": {"ranksPerNode": 3, "parallelism": {"tensor": 2}}}, "make nodes x ranksPerNode a multiple"),
        ({"environments": {"activeSkills": 7}}, "name more skills or lower it"),
        ({"environments": {"skills": ["a", "a", "a"]}}, "name each once"),
        ({"play": {"sampling": {"topP": 0.9}}}, "use topP 1"),
        ({"rewards": {"plateau": {"low": 0.9}}}, "write the smaller value as low"),
    ],
)
def test_impossible_wholes_are_refused_with_what_to_write(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        spec(**settings).method()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": {"nodes": 2}}, "write spec.engine.replicas as spec.learner.nodes"),
        ({"engine": {"pod": {"nodeSelector": {"a": "b"}}}}, "write all else in spec.learner.pod"),
        ({"engine": {"pod": {"labels": {"team": "rl"}}}}, "write all else in spec.learner.pod"),
        ({"engine": {"pod": {"resources": {"limits": {"nvidia.com/gpu": "1"}}}}}, "spec.learner.deviceClaimTemplate"),
        ({"learner": {"fabric": "HostRdma"}}, "use spec.learner.fabric PodNetwork or Rdma"),
    ],
)
def test_engine_that_does_not_fit_into_the_learners_pod_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        spec(placement="Colocated", **settings)
    assert spec(**settings), "in a pod of its own it may"


def test_a_quantity_may_be_a_number_and_not_a_truth_value() -> None:
    run = spec(workers={"pod": {"resources": {"requests": {"cpu": 2}}}})
    assert run.workers.pod.resources.requests == {"cpu": "2"}
    with pytest.raises(ValidationError):
        spec(workers={"pod": {"resources": {"requests": {"cpu": True}}}})
