"""The plan of a run is read from the manifests that the operator would make."""

from decimal import Decimal

from tests.support.children import make_run, make_site
from tests.support.surroundings import plan

from spade_contracts.labels import Role
from spade_operator.preflight.plan import plan_of, total

CA = {"config_map": "roots", "key": "ca.pem"}


def test_every_role_is_in_it_with_its_number() -> None:
    wanted = plan(
        engine={"replicas": 2}, learner={"nodes": 3}, workers={"design": 2, "play": 5},
        sandbox={"minPods": 2, "maxPods": 7},
    )  # fmt: skip
    assert {pods.role: (pods.count, pods.most) for pods in wanted.all_pods} == {
        Role.PREPARE: (1, 1), Role.SANDBOX: (2, 7), Role.BEACON: (1, 1), Role.ENGINE: (2, 2), Role.LEARNER: (3, 3),
        Role.WORKER: (5, 5),
    }  # fmt: skip


def test_each_name_is_looked_for_where_it_was_written() -> None:
    bucket = {"s3": {"uri": "s3://spade/runs", "credentialsSecret": "bucket"}}
    wanted = plan_of(make_run(storage=bucket), make_site(image_pull_secrets=("registry",), ca_bundle=CA))
    assert wanted.field_of("bucket") == "spec.storage.s3.credentialsSecret"
    assert wanted.field_of("registry") == "imagePullSecrets of the chart's values"
    assert wanted.field_of("roots") == "caBundle.configMap of the chart's values"
    assert "secretEnvironment" in wanted.field_of("hub")


def test_engine_beside_a_learner_is_a_part_of_its_pod() -> None:
    wanted = plan(placement="Colocated", engine={"replicas": 2}, learner={"nodes": 2})
    pods = {pods.role: pods for pods in wanted.pods}
    assert Role.ENGINE not in pods
    apart = {pods.role: pods for pods in plan(engine={"replicas": 2}, learner={"nodes": 2}).pods}
    for name in ("cpu", "memory"):
        assert pods[Role.LEARNER].requests[name] == sum(apart[r].requests[name] for r in (Role.LEARNER, Role.ENGINE))
    assert len(pods[Role.LEARNER].images) == 2
    assert total(wanted.pods)["pods"] == total(tuple(apart.values()))["pods"] - 2


def test_requests_are_added_up_and_a_limit_alone_is_one() -> None:
    sums = total(plan(engine={"replicas": 2}).pods)
    assert sums["cpu"] == Decimal("0.15") + Decimal("0.01") + 2 * Decimal("0.4") + Decimal("0.4") + Decimal("0.15")
    assert sums["memory"] == (512 + 256 + 3 * 5 * 1024 + 1536) * 2**20
    assert sums["pods"] == 6


def test_names_are_those_that_others_must_make() -> None:
    run = make_run(
        engine={"pod": {"volumes": [
            {"mountPath": "/mnt/s", "secret": {"secretName": "certificates"}},
            {"mountPath": "/mnt/c", "persistentVolumeClaim": {"claimName": "models"}},
        ]}},
        workers={"pod": {"secretEnvironment": {
            "A": {"secret": "hub", "key": "a"}, "B": {"secret": "hub", "key": "b"},
        }}},
        sandbox={"pod": {"priorityClassName": "batch"}},
    )  # fmt: skip
    wanted = plan_of(run, make_site(image_pull_secrets=("registry",), ca_bundle=CA))
    assert wanted.secrets() == {"registry": set(), "certificates": set(), "hub": {"a", "b"}}
    assert wanted.config_maps() == {"roots": {"ca.pem"}}
    assert wanted.claims() == ("models",)
    assert wanted.priority_classes() == {"batch": [Role.SANDBOX]}
    assert plan_of(make_run(storage={"claimName": "mine"}), make_site()).claims() == ("mine",)
