"""One real API server for all integration tests of a session."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.api_server import ApiServer, running_api_server

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def bare_api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server that knows nothing of us."""
    with running_api_server(tmp_path_factory.mktemp("api-server")) as server:
        yield server


@pytest.fixture(scope="session")
def api_server(bare_api_server: ApiServer) -> ApiServer:
    """An API server with our three kinds."""
    install_kinds(bare_api_server)
    return bare_api_server


def install_kinds(server: ApiServer) -> None:
    """Apply our CRDs and wait until they are served."""
    applied = server.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
    assert applied.returncode == 0, applied.stderr
    server.await_kinds("-f", str(ROOT / "crds"))
