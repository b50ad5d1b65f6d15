"""Program files of any content are found once and read with a bound; what cannot be read has a verdict."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.verdicts import Reason, Stage
from spade_sandbox.local.files import find_programs, read_program

LIMIT = 1_000


def reason_of(path: Path | str) -> Reason | None:
    file = read_program(str(path), LIMIT)
    assert (file.source is None) == (file.verdict is not None)
    if file.verdict is None:
        return None
    assert file.verdict.stage is Stage.PARSE
    return file.verdict.reason


def test_folder_gives_every_python_file_below_it_in_order(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "sub/c.py", "sub/deep/d.py", "readme.txt", "sub/e.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    found = [os.path.relpath(path, tmp_path) for path in find_programs([str(tmp_path)])]
    assert found == ["a.py", "b.py", "sub/c.py", "sub/deep/d.py"]


def test_file_is_taken_whatever_its_name_and_once_however_often_it_is_named(tmp_path: Path) -> None:
    odd = tmp_path / "program.txt"
    odd.write_text("x = 1\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    inside = str(tmp_path / "a.py")
    assert find_programs([str(odd), inside, str(tmp_path), inside]) == (str(odd), inside)


def test_links_are_files_and_never_an_endless_descent(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("x = 1\n")
    (tmp_path / "link.py").symlink_to("real.py")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "nowhere.py").symlink_to("missing.py")
    (tmp_path / "self.py").symlink_to("self.py")
    names = [os.path.basename(path) for path in find_programs([str(tmp_path)])]
    assert names == ["link.py", "nowhere.py", "real.py", "self.py"]
    assert [reason_of(tmp_path / name) for name in names] == [None, Reason.UNREADABLE, None, Reason.UNREADABLE]


def test_what_is_no_regular_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket.py"))
        for path in (tmp_path / "pipe.py", tmp_path / "socket.py", "/dev/zero", tmp_path, tmp_path / "missing.py"):
            assert reason_of(path) is Reason.UNREADABLE, path


def test_file_without_permission_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)  # root may read everything
    file = read_program(str(tmp_path / "secret.py"), LIMIT)
    assert file.verdict is not None
    assert file.verdict.reason is Reason.UNREADABLE
    assert "Permission denied" in file.verdict.message


def test_file_beyond_the_limit_is_rejected_after_reading_one_byte_more(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_bytes(b"#" * LIMIT)
    assert reason_of(path) is None
    with path.open("ab") as file:
        file.truncate(2**40)  # would not fit into memory
    assert reason_of(path) is Reason.TOO_LONG


@given(st.binary(max_size=200))
def test_any_content_is_text_or_has_a_verdict(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.py"
    path.write_bytes(content)
    try:
        expected = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        assert reason_of(path) is Reason.ENCODING
    else:
        assert read_program(str(path), LIMIT).source == expected
