"""Both places that run storage may be in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.s3 import S3Service, s3_service


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Service]:
    """A service whose clients are all tests of the module."""
    with s3_service(tmp_path_factory.mktemp("staging")) as service:
        yield service


@pytest.fixture(params=["folder", "s3"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place, in a folder and in a bucket."""
    if request.param == "folder":
        return (tmp_path / "run").as_uri()
    service: S3Service = request.getfixturevalue("s3")
    return f"s3://{service.bucket()}/spade/run"
