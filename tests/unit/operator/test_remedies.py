"""A remedy names the very field, value or command that helps, for the role and the kind of object at hand."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import EnvBatchSpec, SpadeRunSpec
from spade_operator.children.resources import amount
from spade_operator.containers import ContainerRecord
from spade_operator.reconcile.failure_rules import FailureCause
from spade_operator.reconcile.remedies import proposed, remedy, settings_field
from spade_operator.records import PodRecord

OWN = [role for role in Role if role is not Role.BEACON]


def of_batch(role: Role) -> PodRecord:
    """The same pod of a stand-alone EnvBatch."""
    pod = p.pod(role)
    return dataclasses.replace(pod, meta=dataclasses.replace(pod.meta, run=p.POOL_FAMILY))


def said(role: Role, cause: FailureCause, words: str = "", limit: str = "") -> str:
    return remedy(p.pod(role), cause, ContainerRecord("main", memory_limit=limit), words)


@pytest.mark.parametrize("role", OWN)
def test_settings_are_named_by_a_field_that_exists(role: Role) -> None:
    head, part, leaf = settings_field(p.pod(role)).split(".")
    assert head == "spec"
    assert leaf in type(getattr(SpadeRunSpec.model_validate({"model": {"uri": "x"}, "rollouts": 1}), part)).model_fields
    assert settings_field(of_batch(Role.WORKER)).removeprefix("spec.") in EnvBatchSpec.model_fields


@given(st.integers(1, 4096), st.sampled_from(["Mi", "Gi", "M", "G", ""]))
def test_proposed_memory_is_larger_by_half_and_a_quantity(number: int, suffix: str) -> None:
    limit = f"{number}{suffix}"
    figure = proposed(limit)
    assert amount(figure) >= amount(limit) * 3 / 2
    assert amount(figure) <= max(amount(limit) * 5 / 2, amount("2Mi"))


def test_memory_that_nobody_limited_has_no_figure() -> None:
    assert proposed("") == ""
    assert (
        said(Role.LEARNER, FailureCause.OUT_OF_MEMORY)
        == "Set spec.learner.pod.resources.limits.memory to what it needs."
    )


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Role.LEARNER, "Raise spec.learner.pod.resources.limits.memory above 5Gi, to 8Gi for a start."),
        (Role.PREPARE, "Raise spec.workers.pod.resources.limits.memory above 5Gi, to 8Gi for a start."),
        (Role.BEACON, "Raise the value defaultResources.beacon.limits.memory above 5Gi, to 8Gi for a start."),
    ],
)
def test_memory_is_raised_where_the_role_has_it(role: Role, expected: str) -> None:
    assert said(role, FailureCause.OUT_OF_MEMORY, limit="5Gi") == expected


def test_pods_of_a_batch_without_a_run_have_their_own_fields() -> None:
    assert remedy(of_batch(Role.WORKER), FailureCause.PROBE_FAILED).endswith("raise spec.pod.resources.requests.cpu.")
    assert "spec.sandbox.pod.resources" in remedy(of_batch(Role.SANDBOX), FailureCause.PROBE_FAILED)


@pytest.mark.parametrize(
    ("words", "ways"),
    [
        ("0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes: 1 No preemption victims.",
         ["resources.requests.memory", "spec.engine.pod.priorityClassName", "add nodes"]),
        ("0/3 nodes are available: 1 Insufficient cpu, 2 Insufficient nvidia.com/gpu.",
         ["resources.requests.cpu", "resources.requests.nvidia.com/gpu"]),
        ("0/2 nodes: 2 node(s) didn't match Pod's node affinity/selector.", ["spec.engine.pod.nodeSelector"]),
        ("0/2 nodes are available: 2 node(s) had untolerated taint {gpu: yes}.", ["spec.engine.pod.tolerations"]),
        ("0/2 nodes: 2 node(s) didn't match pod anti-affinity rules.", ["spec.engine.pod.affinity.podAntiAffinity"]),
        ("0/2 nodes: 2 node(s) didn't match pod affinity rules.", ["spec.engine.pod.affinity.podAffinity"]),
        ("0/2 nodes: 2 node(s) didn't match pod topology spread constraints.", ["spec.engine.pod.topologySpread"]),
        ("0/1 nodes are available: 1 node(s) had volume node affinity conflict.", ["spec.storage"]),
        ("the scheduler is unwell",
         ["resources in spec.engine.pod and nodeSelector", "spec.engine.pod.priorityClassName"]),
    ],
)  # fmt: skip
def test_unschedulable_pod_is_told_what_the_scheduler_missed(words: str, ways: list[str]) -> None:
    text = said(Role.ENGINE, FailureCause.UNSCHEDULABLE, words)
    for way in ways:
        assert way in text
    for field in ("nodeSelector", "tolerations", "affinity.podA", "topologySpread", "priorityClassName"):
        assert (field in text) == any(field in way for way in ways)


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        (p.pod(Role.BEACON), "spec.workers.pod"), (p.pod(Role.PREPARE), "spec.workers.pod"),
        (of_batch(Role.BEACON), "spec.pod"), (of_batch(Role.SANDBOX), "spec.sandbox.pod"),
    ],
)  # fmt: skip
def test_pod_is_placed_by_the_field_that_its_builder_reads(pod: PodRecord, field: str) -> None:
    text = remedy(pod, FailureCause.UNSCHEDULABLE, words="3 node(s) had untolerated taint {gpu: yes}")
    assert f"{field}.tolerations" in text
    assert f"{field}.priorityClassName" in remedy(pod, FailureCause.PREEMPTED)


@pytest.mark.parametrize(
    ("role", "image"),
    [(Role.SANDBOX, "sandbox"), (Role.WORKER, "worker"), (Role.BEACON, "worker"), (Role.LEARNER, "trainer")],
)
def test_missing_image_is_told_by_the_installations_value_and_the_runs_namespace(role: Role, image: str) -> None:
    text = said(role, FailureCause.IMAGE_UNAVAILABLE)
    assert f"images.{image} " in text
    assert "imagePullSecrets must name a Secret of namespace default" in text


@given(st.sampled_from(Role), st.sampled_from(FailureCause), st.text(max_size=500))
def test_every_remedy_is_a_short_sentence(role: Role, cause: FailureCause, words: str) -> None:
    text = said(role, cause, words, "5Gi")
    assert text[0].isupper()
    assert text.endswith(".")
    assert len(text) <= 400


def test_lost_node_is_named() -> None:
    pod = p.pod(Role.LEARNER, node="node-7")
    assert "kubectl describe node node-7" in remedy(pod, FailureCause.NODE_LOST)
