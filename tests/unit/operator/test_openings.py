"""Which NetworkPolicies of others let which pods out; in doubt, one does."""

from typing import Any

import pytest

from spade_operator.facts import Facts
from spade_operator.openings import Opening, opening_of

SANDBOX = {"spade.dev/role": "sandbox", "spade.dev/run": "mini"}


def policy(name: str = "theirs", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "opens"),
    [
        ({"podSelector": {}}, False),
        ({"podSelector": {}, "policyTypes": ["Egress"]}, False),
        ({"podSelector": {}, "policyTypes": ["Egress"], "egress": []}, False),
        ({"podSelector": {}, "policyTypes": ["Ingress"], "egress": [{}]}, False),
        ({"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]}, True),
        ({"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}, True),
    ],
)
def test_policy_opens_when_it_has_a_rule_for_egress(spec: dict[str, Any], opens: bool) -> None:
    assert (opening_of(policy(**spec)) is not None) == opens


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        ({}, True),
        ({"matchLabels": {"spade.dev/run": "mini"}}, True),
        ({"matchLabels": {"spade.dev/run": "mini", "app": "web"}}, False),
        ({"matchExpressions": [{"key": "spade.dev/role", "operator": "In", "values": ["worker", "sandbox"]}]}, True),
        ({"matchExpressions": [{"key": "spade.dev/role", "operator": "NotIn", "values": ["sandbox"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Newer"}]}, True),
    ],
)
def test_selector_is_read_as_kubernetes_reads_it(selector: dict[str, Any], selects: bool) -> None:
    opening = opening_of(policy(podSelector=selector, egress=[{}]))
    assert opening is not None
    assert opening.selects(SANDBOX) == selects


def test_openings_are_known_by_namespace_until_they_go() -> None:
    facts, one = Facts(), Opening("default", "one")
    assert facts.set_opening("default", "one", one)
    assert not facts.set_opening("default", "one", one), "no news"
    assert facts.openings("default") == (one,)
    assert facts.openings("other") == ()
    assert facts.set_opening("default", "one", None)
    assert not facts.set_opening("default", "one", None)
    facts.relist_openings([Opening("default", "two"), one])
    assert [opening.name for opening in facts.openings("default")] == ["one", "two"]
    facts.relist_openings([])
    assert facts.openings("default") == ()
