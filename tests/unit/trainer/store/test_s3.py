"""On S3 a busy service is asked again until a deadline, and what no further try changes is told at once, with a way."""

import itertools
from collections.abc import Iterator
from dataclasses import replace as changed

import pytest
from tests.support.s3 import S3Service

from spade_contracts.resources import Reason
from spade_trainer.store import s3 as module
from spade_trainer.store.files import StorageRefused, StorageUnreachable
from spade_trainer.store.objects import Store, create, create_same, exists, names, open_store, read_bytes, remove
from spade_trainer.workers.model_source import Refused
from spade_trainer.workers.prepare import writable

BUSY = ("SlowDown", 503)


@pytest.fixture
def store(s3: S3Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A place in a bucket whose clients wait for nobody."""
    monkeypatch.setattr(module, "PAUSES_SECONDS", (0.0,))
    yield open_store(f"s3://{s3.bucket()}/spade/run")
    s3.faults.waiting.clear()
    s3.faults.ignores_conditions = False


@pytest.mark.parametrize(
    ("code", "status"), [BUSY, ("InternalError", 500), ("ConditionalRequestConflict", 409), ("Throttling", 400)]
)
def test_a_busy_service_is_asked_again(s3: S3Service, store: Store, code: str, status: int) -> None:
    s3.faults.waiting += [("*", code, status)] * 6
    before = s3.faults.answered
    assert create(store, "run.json", b"one")
    assert s3.faults.answered - before == 6


def test_reading_and_listing_wait_for_a_busy_service_too(s3: S3Service, store: Store) -> None:
    create(store, "steps/0000/step.json", b"one")
    for ask, expected in (
        (lambda: read_bytes(store, "steps/0000/step.json"), b"one"),
        (lambda: names(store, "steps"), ("0000",)),
        (lambda: exists(store, "steps/0000/step.json"), True),
    ):
        s3.faults.waiting += [("*", *BUSY)] * 3
        assert ask() == expected
        assert not s3.faults.waiting


def test_a_service_that_stays_busy_is_given_up_at_the_deadline_as_a_passing_fault(
    s3: S3Service, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.faults.waiting += [("*", *BUSY)] * 1000
    seconds = itertools.count(step=10)
    monkeypatch.setattr(module, "monotonic", lambda: next(seconds))
    impatient = changed(store, files=changed(store.files, patience_seconds=95))
    before = s3.faults.answered
    with pytest.raises(StorageUnreachable, match="SlowDown"):
        create(impatient, "run.json", b"one")
    assert s3.faults.answered - before == 10


def test_a_write_whose_answer_was_lost_is_no_conflict_with_itself(s3: S3Service, store: Store) -> None:
    assert create(store, "run.json", b"one")
    assert not create(store, "run.json", b"one")
    create_same(store, "run.json", b"one")


@pytest.mark.parametrize("code", ["AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch"])
def test_no_access_is_told_at_once_with_the_rights_that_are_needed(s3: S3Service, store: Store, code: str) -> None:
    for ask in (lambda: create(store, "x", b""), lambda: read_bytes(store, "x"), lambda: names(store, "")):
        s3.faults.waiting += [("*", code, 403)]
        with pytest.raises(StorageRefused, match=r"s3:ListBucket .* s3:PutObject"):
            ask()
        assert not s3.faults.waiting, "asked once"


def test_a_missing_bucket_is_told_whatever_is_asked(s3: S3Service) -> None:
    store = open_store("s3://no-such-bucket-anywhere/run")
    for ask in (lambda: create(store, "x", b""), lambda: read_bytes(store, "x"), lambda: names(store, "")):
        with pytest.raises(StorageRefused, match="the bucket does not exist"):
            ask()


def test_without_credentials_the_setting_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StorageRefused, match=r"storage\.s3\.credentialsSecret"):
        read_bytes(open_store(store.uri), "run.json")


def test_no_secret_is_in_any_message(s3: S3Service, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "my-very-secret-key")
    s3.faults.waiting += [("*", "SignatureDoesNotMatch", 403)]
    with pytest.raises(StorageRefused) as caught:
        read_bytes(open_store(store.uri), "run.json")
    assert "my-very-secret-key" not in f"{caught.value}{open_store(store.uri)!r}"


def test_a_service_that_is_not_there_is_a_passing_fault(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    away = open_store(store.uri)
    with pytest.raises(StorageUnreachable, match="does not answer"):
        exists(changed(away, files=changed(away.files, patience_seconds=0)), "run.json")


def test_preparation_refuses_a_service_that_ignores_conditions(s3: S3Service, store: Store) -> None:
    writable(store.uri)
    assert names(store, "") == ()
    s3.faults.ignores_conditions = True
    with pytest.raises(Refused, match="If-None-Match") as caught:
        writable(store.uri)
    assert caught.value.reason is Reason.STORAGE_UNAVAILABLE


def test_preparation_says_what_is_wrong_with_a_bucket() -> None:
    with pytest.raises(Refused, match="bucket does not exist") as caught:
        writable("s3://no-such-bucket-anywhere/run")
    assert caught.value.reason is Reason.STORAGE_UNAVAILABLE


def test_a_large_object_is_created_once_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    part = 5 * 2**20
    pipe = store.files.fs.pipe_file  # type: ignore[attr-defined]

    def in_parts(path: str, content: bytes, **options: object) -> None:
        pipe(path, content, chunksize=part, **options)

    monkeypatch.setattr(store.files.fs, "pipe_file", in_parts)  # type: ignore[attr-defined]
    content = bytes(3 * part)
    assert create(store, "large", content)
    assert not create(store, "large", b"x" * len(content))
    assert read_bytes(store, "large") == content
    remove(store, "large")
    assert not exists(store, "large")
