"""RDMA is an exception: a learner has it where the run asks for it and the installation allows it, and nobody else."""

import pytest
from tests.support import pictures as p
from tests.support.children import make_run, make_site, workloads

from spade_contracts.resources import Reason, RunCondition, SpadeRunSpec
from spade_operator.children.policies import network_policies
from spade_operator.children.site import Rdma
from spade_operator.reconcile.accept import accept
from spade_operator.reconcile.fabric import NotAllowed, check_fabric, demands

DEVICE = {"resources": {"limits": {"rdma/hca": "1"}}}
NODES = ("192.0.2.0/24",)
OPEN = Rdma(resources=("rdma/hca",), host_network_cidrs=NODES)
DEVICES_ONLY = Rdma(resources=("rdma/hca",))


def spec(**parts: object) -> SpadeRunSpec:
    return SpadeRunSpec.model_validate({"model": {"uri": "package:tiny"}, "rollouts": 1, **parts})


def learner(fabric: str, **more: object) -> dict[str, object]:
    return {"learner": {"fabric": fabric, **more}}


@pytest.mark.parametrize(
    ("wanted", "rdma"),
    [
        (spec(), Rdma()),
        (spec(), OPEN),
        (spec(**learner("Rdma", pod=DEVICE)), DEVICES_ONLY),
        (spec(**learner("HostRdma", pod=DEVICE)), OPEN),
        (spec(engine={"pod": {"resources": {"limits": {"nvidia.com/gpu": "1"}}}}), OPEN),
    ],
)
def test_what_the_installation_allows_is_taken(wanted: SpadeRunSpec, rdma: Rdma) -> None:
    check_fabric(wanted, rdma)


@pytest.mark.parametrize(
    ("wanted", "rdma", "where", "says"),
    [
        (spec(**learner("Rdma", pod=DEVICE)), Rdma(), "spec.learner.fabric", "chart's value rdma.resources"),
        (spec(**learner("HostRdma", pod=DEVICE)), DEVICES_ONLY, "spec.learner.fabric", "rdma.hostNetworkCidrs"),
        (spec(**learner("Rdma")), OPEN, "spec.learner.pod.resources", "Ask for rdma/hca."),
        (spec(learner={"pod": DEVICE}), OPEN, "spec.learner.pod.resources", "Write spec.learner.fabric: Rdma."),
        (spec(engine={"pod": DEVICE}), OPEN, "spec.engine.pod.resources", "only a learner may have"),
        (spec(workers={"pod": DEVICE}), OPEN, "spec.workers.pod.resources", "only a learner may have"),
    ],
)
def test_all_else_is_refused_with_the_field_and_what_to_change(
    wanted: SpadeRunSpec, rdma: Rdma, where: str, says: str
) -> None:
    with pytest.raises(NotAllowed) as refused:
        check_fabric(wanted, rdma)
    assert refused.value.where == where
    assert says in str(refused.value)


def test_run_that_asks_for_more_than_is_allowed_is_not_accepted() -> None:
    step = accept(p.seen(p.run_record(**learner("Rdma", pod=DEVICE))), p.NOW)
    assert p.wanted(step, RunCondition.ACCEPTED)[:2] == ("False", Reason.NOT_ALLOWED)
    assert step.blocks


def test_what_a_run_will_want_of_cluster_and_namespace_can_be_told_without_one() -> None:
    assert demands(spec()) == ()
    (rdma,) = demands(spec(**learner("Rdma", pod=DEVICE)))
    assert "rdma.resources" in rdma
    assert "LimitMEMLOCK=infinity" in rdma
    _, host = demands(spec(**learner("HostRdma", pod=DEVICE)))
    assert "Pod Security level is privileged" in host


def test_devices_change_no_pod_but_by_their_resource() -> None:
    plain = workloads(make_run(learner={"pod": DEVICE}), make_site())
    rdma = workloads(make_run(learner={"fabric": "Rdma", "pod": DEVICE}), make_site(rdma=DEVICES_ONLY))
    assert rdma["learner"]["spec"]["template"]["spec"] == plain["learner"]["spec"]["template"]["spec"]
    assert {word: rdma[word] for word in rdma if word != "learner"} == {
        word: plain[word] for word in plain if word != "learner"
    }
    limits = rdma["learner"]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits["rdma/hca"] == "1"


def test_only_the_learner_gets_the_nodes_network_and_engines_hear_it_from_there() -> None:
    run = make_run(learner={"fabric": "HostRdma", "pod": DEVICE})
    for word, manifest in workloads(run, make_site(rdma=OPEN)).items():
        pod = manifest["spec"]["template"]["spec"]
        assert ("hostNetwork" in pod) is (word == "learner"), word
        security = pod["containers"][0]["securityContext"]
        assert security["capabilities"] == {"drop": ["ALL"]}, word
    engine = next(
        o for o in network_policies(run.owner, make_site(rdma=OPEN)) if o["metadata"]["name"] == "mini-engine"
    )
    (control,) = [
        rule for rule in engine["spec"]["ingress"] if {item["port"] for item in rule["ports"]} == {7421, 7422}
    ]
    assert {"ipBlock": {"cidr": NODES[0]}} in control["from"]


def test_where_the_learner_has_no_nodes_network_engines_hear_nobody_from_it() -> None:
    for run in (make_run(), make_run(learner={"fabric": "Rdma", "pod": DEVICE})):
        for policy in network_policies(run.owner, make_site(rdma=OPEN)):
            for rule in policy["spec"]["ingress"]:
                assert all("ipBlock" not in peer for peer in rule.get("from", [])), policy["metadata"]["name"]
