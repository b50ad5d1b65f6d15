"""Whatever lies where a kubeconfig should is told as a wrong setting."""

from pathlib import Path

import pytest

from spade_cli.cluster import connect
from spade_contracts.errors import InvalidInput


@pytest.mark.parametrize(
    "content", ["", "a name\n", "[]", "{}", "clusters: [", "apiVersion: v1\nclusters: 3\n", "\x00"]
)
def test_file_that_is_no_kubeconfig_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "config"
    file.write_text(content)
    with pytest.raises(InvalidInput, match=str(file)):
        connect(str(file))


def test_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match=str(file)):
        connect(str(file))
