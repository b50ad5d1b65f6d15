"""A new operator goes on with a run as the old one started it: with its images, and with the pods that it has."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import pictures as p
from tests.support.children import make_site

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, RunCondition
from spade_contracts.resources.run_parts import Images
from spade_operator.children.engine import engine_deployment
from spade_operator.children.manifests import Manifest
from spade_operator.children.owner import Run
from spade_operator.facts import Facts
from spade_operator.reconcile.observe import Observed, observe
from spade_operator.reconcile.prepare import prepare
from spade_operator.reconcile.steps import Apply, Scale
from spade_operator.records import DeploymentRecord, Kind, record_of

OLD = Images(sandbox="old/sandbox", worker="old/worker", trainer="old/trainer")
NEXT = make_site(run_pods={"labels": {"team": "next"}})


def applied(manifest: Manifest) -> DeploymentRecord:
    """A Deployment as the API server has it after an apply."""
    meta = manifest["metadata"] | {"uid": "u", "resourceVersion": "5", "generation": 1}
    found = record_of(Kind.DEPLOYMENT, manifest | {"metadata": meta})
    assert isinstance(found, DeploymentRecord)
    return found


def made(replicas: int = 1, site: Any = p.SITE, **spec: Any) -> Manifest:
    run = p.run_record(**spec)
    assert run.spec is not None
    return engine_deployment(Run("default", p.RUN, run.meta.uid, run.spec), site, replicas)[0]


def with_engine(known: DeploymentRecord, **spec: Any) -> Observed:
    return p.seen(p.run_record(**spec), deployments=[known], applied={})


def test_another_template_of_a_new_operator_is_not_put_under_pods_at_work() -> None:
    assert with_engine(applied(made())).changed([made(site=NEXT)]) == ()


def test_their_number_is_changed_without_the_template() -> None:
    known = applied(made())
    (action,) = with_engine(known).changed([made(replicas=2, site=NEXT)])
    assert action == Scale(known, 2)


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        (applied(made()), made(replicas=2)),
        (applied(made()), made(engine={"args": {"max-num-seqs": "8"}})),
        (replace(applied(made()), meta=replace(applied(made()).meta, foreign=True)), made(site=NEXT)),
        (replace(applied(made()), meta=replace(applied(made()).meta, deleting=True)), made(site=NEXT)),
    ],
    ids=["the same template", "what the run asks for", "somebody else changed it", "it goes"],
)
def test_it_is_applied_when(known: DeploymentRecord, wanted: Manifest) -> None:
    assert with_engine(known).changed([wanted]) == (Apply(wanted),)


def test_run_keeps_the_images_that_its_status_names() -> None:
    facts = Facts()
    facts.put(p.run_record(p.holding(RunCondition.ACCEPTED, images=OLD)))
    seen = observe(facts, p.SITE, "default", p.RUN)
    assert seen is not None
    assert seen.site.images == OLD
    assert seen.site.resources == p.SITE.resources
    assert prepare(seen, p.NOW).status["images"] == OLD


def test_accepted_run_takes_the_installations_images_and_remembers_them() -> None:
    seen = p.seen(p.run_record(p.holding(RunCondition.ACCEPTED)))
    assert prepare(seen, p.NOW).status["images"] == p.SITE.images


def test_unprepared_run_is_bound_to_no_images() -> None:
    assert "images" not in prepare(p.seen(), p.NOW).status


@pytest.mark.parametrize("phase", [Phase.SUSPENDED, Phase.COMPLETE, Phase.FAILED])
def test_run_that_goes_on_after_it_gave_its_pods_back_takes_the_installations_images(phase: Phase) -> None:
    facts = Facts()
    facts.put(p.run_record(p.holding(RunCondition.ACCEPTED, images=OLD, phase=phase)))
    seen = observe(facts, p.SITE, "default", p.RUN)
    assert seen is not None
    assert prepare(seen, p.NOW).status["images"] == p.SITE.images


def test_deployments_of_every_role_say_what_was_asked() -> None:
    seen = p.at_work()
    from spade_operator.reconcile.engines import engines
    from spade_operator.reconcile.sandboxes import sandboxes

    manifests = [a.manifest for policy in (sandboxes, engines) for a in p.actions_of(policy(seen, p.NOW), Apply)]
    deployments = [m for m in manifests if m["kind"] == "Deployment"]
    assert {m["metadata"]["labels"]["spade.dev/role"] for m in deployments} == {
        str(role) for role in (Role.SANDBOX, Role.BEACON, Role.ENGINE)
    }
    for manifest in deployments:
        assert applied(manifest).asked
        assert applied(manifest).template
