"""A run's requests and limits win over the site's, name by name, and the result is always legal."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.resources.pods import Resources
from spade_operator.children.resources import amount, laid_over, threads

QUANTITIES = st.sampled_from(["100m", "400m", "1", "2", "1.5", "512Mi", "2Gi", "1G"])
NAMES = st.sampled_from(["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"])
RESOURCES = st.builds(
    Resources,
    requests=st.dictionaries(NAMES, QUANTITIES, max_size=4),
    limits=st.dictionaries(NAMES, QUANTITIES, max_size=4),
)


@pytest.mark.parametrize(
    ("text", "value"), [("400m", "0.4"), ("2", "2"), ("1.5Gi", str(3 * 2**29)), ("3k", "3000"), ("1Ti", str(2**40))]
)
def test_quantities_have_their_value(text: str, value: str) -> None:
    assert amount(text) == Decimal(value)


def test_a_text_that_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="write for instance 500m or 4Gi"):
        amount("ten")


def legal(resources: Resources) -> bool:
    return all(
        amount(request) <= amount(resources.limits[name])
        for name, request in resources.requests.items()
        if name in resources.limits
    )


@given(RESOURCES.filter(legal), RESOURCES.filter(legal))
def test_no_request_exceeds_its_limit(defaults: Resources, own: Resources) -> None:
    result = laid_over(defaults, own)
    assert legal(result)
    assert all(result.limits[name] == value for name, value in own.limits.items())


@given(RESOURCES.filter(legal), RESOURCES.filter(legal))
def test_devices_are_never_overcommitted(defaults: Resources, own: Resources) -> None:
    result = laid_over(defaults, own)
    for name in result.requests.keys() | result.limits.keys():
        if "/" in name:
            assert result.requests[name] == result.limits[name]


def test_a_larger_request_lifts_the_default_limit() -> None:
    defaults = Resources(requests={"memory": "1Gi"}, limits={"memory": "2Gi"})
    assert laid_over(defaults, Resources(requests={"memory": "4Gi"})).limits == {"memory": "4Gi"}


def test_a_smaller_limit_lowers_the_default_request() -> None:
    defaults = Resources(requests={"memory": "1Gi"}, limits={"memory": "2Gi"})
    assert laid_over(defaults, Resources(limits={"memory": "512Mi"})).requests == {"memory": "512Mi"}


@pytest.mark.parametrize(
    ("cpu", "processes", "count"), [("400m", 1, 1), ("400m", 2, 1), ("8", 1, 8), ("8", 4, 2), ("7", 2, 3)]
)
def test_threads_share_the_cpu_request(cpu: str, processes: int, count: int) -> None:
    assert threads(Resources(requests={"cpu": cpu}), processes) == count
