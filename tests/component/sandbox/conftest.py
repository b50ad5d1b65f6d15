"""One pod of each kind for all component tests of a session."""

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.support.sandbox_pods import TOKEN, RunningPod, pod_in_gvisor, pod_in_namespaces

from spade_sandbox.client import SandboxPool


@pytest.fixture(scope="session", params=["namespaces", "gvisor"])
def pod(request: pytest.FixtureRequest) -> Iterator[RunningPod]:
    """A pod that admits sessions without a probe, in each of the two places."""
    start = pod_in_gvisor if request.param == "gvisor" else pod_in_namespaces
    with start() as running:
        running.tried()
        yield running


@pytest.fixture
async def pool(pod: RunningPod) -> AsyncIterator[SandboxPool]:
    """A client of that pod."""
    async with SandboxPool(pod.target, TOKEN) as connected:
        yield connected
