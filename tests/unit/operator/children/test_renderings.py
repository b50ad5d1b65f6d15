"""What is remembered of rendered manifests is never out of date: a pass decides as if everything was rendered anew."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import ASKED_ANNOTATION, HASH_ANNOTATION, ROLE, TEMPLATE_ANNOTATION, Role
from spade_contracts.resources.run_parts import Images
from spade_operator.children.engine import engine_deployment
from spade_operator.children.manifests import Manifest
from spade_operator.children.policies import network_policies
from spade_operator.children.renderings import Mark, Renderings, mark_of
from spade_operator.children.secrets import token_secrets
from spade_operator.children.services import services
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.steps import Apply
from spade_operator.records import ChildRecord, DeploymentRecord, Kind

SITES = (
    p.SITE,
    p.SITE.model_copy(update={"images": Images(sandbox="other/sandbox", worker="w:2", trainer="t:2")}),
    p.SITE.model_copy(update={"manage_network_policies": False}),
    p.SITE.model_copy(update={"installation_key": b"another key of thirty-two bytes!"}),
)
SPECS: tuple[dict[str, Any], ...] = (
    {},
    {"engine": {"replicas": 2}},
    {"engine": {"args": {"max-num-seqs": "8"}}},
    {"sandbox": {"minPods": 3, "maxPods": 5}},
    {"sandbox": {"sessionsPerPod": 4}},
    {"workers": {"pod": {"labels": {"team": "a"}}}},
    {"learner": {"nodes": 2}},
    {"placement": "Colocated"},
)


def with_head(seen: Observed, spec: dict[str, Any], uid: str) -> Observed:
    run = p.run_record(seen.run.status, **spec)
    return replace(seen, head=replace(run, meta=replace(run.meta, uid=uid, run_uid=uid)))


def applied(seen: Observed, manifests: list[Manifest]) -> Observed:
    """The picture after these applies."""
    others, deployments, editions = dict(seen.others), dict(seen.deployments), dict(seen.applied)
    for manifest in manifests:
        meta, kind = manifest["metadata"], Kind(manifest["kind"])
        marks = meta["annotations"]
        who = p.meta(kind, meta["name"], uid=f"{kind}/{meta['name']}", hash=marks[HASH_ANNOTATION])
        editions[who.uid] = who.edition
        if kind is Kind.DEPLOYMENT:
            role = Role(meta["labels"][ROLE])
            deployments[role] = DeploymentRecord(
                replace(who, role=role), manifest["spec"].get("replicas", 1),
                asked=marks[ASKED_ANNOTATION], template=marks[TEMPLATE_ANNOTATION],
            )  # fmt: skip
        else:
            others[kind, meta["name"]] = ChildRecord(who, "10.96.0.77" if kind is Kind.SERVICE else "")
    return replace(seen, others=others, deployments=deployments, applied=editions)


STEPS = st.tuples(
    st.sampled_from(SPECS), st.sampled_from(SITES), st.sampled_from(["one", "two"]), st.booleans(), st.booleans()
)
"""Spec, site, UID of the head, whether what is decided is done, and whether another operator takes over."""


@given(st.lists(STEPS, min_size=1, max_size=12))
def test_decisions_after_any_changes_are_those_of_an_operator_that_remembers_nothing(
    steps: list[tuple[dict[str, Any], Any, str, bool, bool]],
) -> None:
    renderings, seen = Renderings(), p.at_work()
    for spec, site, uid, does, forgets in steps:
        seen = with_head(replace(seen, site=site, renderings=renderings), spec, uid)
        if forgets:
            seen = replace(seen, applied={})
        decision = decide(seen, p.NOW)
        assert decision == decide(replace(seen, renderings=Renderings()), p.NOW)
        if does:
            seen = applied(seen, [action.manifest for action in decision.actions if isinstance(action, Apply)])


@given(st.lists(st.tuples(st.sampled_from(SPECS), st.sampled_from(SITES)), min_size=1, max_size=8))
def test_marks_are_those_of_what_the_builder_makes_now(changes: list[tuple[dict[str, Any], Any]]) -> None:
    renderings = Renderings()
    for spec, site in changes:
        seen = with_head(p.at_work(), spec, "one")
        calls: tuple[tuple[Callable[..., list[Manifest]], tuple[Any, ...]], ...] = (
            (token_secrets, (seen.owner, site)),
            (network_policies, (seen.owner, site)),
            (services, (seen.owner,)),
            (engine_deployment, (seen.parent, site, seen.spec.engine.replicas)),
        )
        for builder, inputs in calls:
            assert renderings.marks("one", builder, *inputs) == tuple(map(mark_of, builder(*inputs)))


def test_nothing_is_rendered_again_while_its_inputs_are_equal() -> None:
    made: list[int] = []

    def builder(number: int) -> list[Manifest]:
        made.append(number)
        return [{"kind": "Secret", "metadata": {"name": f"s-{number}", "annotations": {HASH_ANNOTATION: str(number)}}}]

    renderings = Renderings(remembered=2)
    for number in (1, 1, 2, 2, 1):
        assert renderings.marks("a", builder, number) == (Mark("Secret", f"s-{number}", str(number)),)
    assert made == [1, 2, 1]
    renderings.marks("b", builder, 1)
    renderings.marks("c", builder, 1)
    renderings.marks("a", builder, 1)
    assert made == [1, 2, 1, 1, 1, 1], "no more families are remembered than the bound says"


def test_settled_run_renders_nothing_more() -> None:
    renderings = Renderings()
    seen = replace(p.at_work(), renderings=renderings)
    for _ in range(2):
        actions = decide(seen, p.NOW).actions
        seen = applied(seen, [action.manifest for action in actions if isinstance(action, Apply)])
    assert not [action for action in decide(seen, p.NOW).actions if isinstance(action, Apply)]
