"""Run storage on S3, or on a service that speaks its protocol: creation is a PUT with `If-None-Match: *`.

Endpoint, region and credentials come from the environment, as every client of AWS reads them (AWS_ENDPOINT_URL_S3,
AWS_DEFAULT_REGION, AWS_ACCESS_KEY_ID, …); none is an argument here, and none is in a message. What throttles, breaks
or does not answer is asked again until a deadline; a missing right or bucket is told at once.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any, TypeVar

from spade_trainer.store.files import StorageRefused, StorageUnreachable

WHERE = "storage.s3"
CHUNK_BYTES = 1 << 20
CONNECT_SECONDS = 5.0
READ_SECONDS = 60.0
PATIENCE_SECONDS = 180.0
"""How long one operation is tried again."""
PAUSES_SECONDS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Pauses before a further try; the last one repeats."""
TAKEN = frozenset({"PreconditionFailed"})
"""A conditional write was lost: the name has an object."""
PASSING = frozenset(
    {
        "ConditionalRequestConflict",
        "InternalError",
        "OperationAborted",
        "RequestLimitExceeded",
        "RequestTimeout",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
    }
)
"""Refusals that end by themselves; a conditional write that met another one at the same moment is among them."""
RIGHTS = "s3:ListBucket on the bucket and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload in it"
T = TypeVar("T")


@dataclass(frozen=True)
class S3Files:
    """See `Files`. Paths are `bucket/key`."""

    fs: Any
    """s3fs.S3FileSystem without listing cache and without tries of its own."""
    patience_seconds: float = PATIENCE_SECONDS
    staged: bool = True

    def exists(self, path: str) -> bool:
        """See `Files`. One HEAD and no listing: the learner asks twice a second."""
        bucket, _, key = path.partition("/")
        try:
            _asked(self, path, lambda: self.fs.call_s3("head_object", Bucket=bucket, Key=key))
        except FileNotFoundError:
            return False
        return True

    def read(self, path: str) -> bytes:
        """See `Files`."""
        return bytes(_asked(self, path, lambda: self.fs.cat_file(path)))

    def chunks(self, path: str) -> Iterator[bytes]:
        """See `Files`."""
        with _asked(self, path, lambda: self.fs.open(path, "rb")) as file:
            while chunk := _asked(self, path, lambda: file.read(CHUNK_BYTES)):
                yield bytes(chunk)

    def open(self, path: str) -> IO[bytes]:
        """A stored file for reading here and there, unpacked where its name says that it is compressed.

        Raises FileNotFoundError; reading raises OSError.
        """
        # fsspec's own file reads lines of any length only.
        return io.BufferedReader(_asked(self, path, lambda: self.fs.open(path, "rb", compression="infer")), CHUNK_BYTES)

    def listed(self, folder: str) -> tuple[str, ...]:
        """See `Files`."""
        try:
            found = _asked(self, folder, lambda: self.fs.ls(folder, detail=False))
        except FileNotFoundError:
            return ()
        below = (str(path).rstrip("/").removeprefix(f"{folder}/") for path in found)
        return tuple(name for name in below if name and "/" not in name)

    def sizes(self, folder: str) -> dict[str, int]:
        """Bytes of every object below a folder or in a whole bucket, at any depth, by its name there."""
        try:
            found = _asked(self, folder, lambda: self.fs.find(folder, detail=True))
        except FileNotFoundError:
            return {}
        below = ((str(path).removeprefix(f"{folder}/"), entry) for path, entry in found.items() if path != folder)
        return {name: int(entry["size"]) for name, entry in below}

    def beginnings(self, paths: Sequence[str], count: int) -> tuple[bytes, ...]:
        """The first `count` bytes of each of some stored files, none of them empty, several at a time.

        Raises FileNotFoundError.
        """

        def ask() -> list[bytes]:
            answers = self.fs.cat_ranges(list(paths), [0] * len(paths), [count] * len(paths))
            wrong = next((answer for answer in answers if isinstance(answer, Exception)), None)
            if wrong is not None:
                raise wrong
            return [bytes(answer) for answer in answers]

        return tuple(_asked(self, paths[0], ask)) if paths else ()

    def create(self, path: str, content: bytes) -> bool:
        """See `Files`. A write that was lost to an earlier try of itself counts as lost, and holds the same bytes."""
        try:
            _asked(self, path, lambda: self.fs.pipe_file(path, content, mode="create"))
        except FileExistsError:
            return False
        return True

    def replace(self, path: str, content: bytes) -> None:
        """See `Files`."""
        _asked(self, path, lambda: self.fs.pipe_file(path, content))

    def remove(self, path: str) -> None:
        """See `Files`."""
        try:
            _asked(self, path, lambda: self.fs.rm(path, recursive=True))
        except FileNotFoundError:
            return

    def upload(self, source: Path, path: str) -> None:
        """See `Files`."""
        _asked(self, path, lambda: self.fs.put_file(str(source), path))

    def download(self, path: str, target: Path) -> None:
        """See `Files`."""
        _asked(self, path, lambda: self.fs.get_file(path, str(target)))


def open_s3(patience_seconds: float = PATIENCE_SECONDS, tries: int = 1) -> S3Files:
    """The service that the environment names; nothing is asked of it yet. Raises StorageRefused without s3fs.

    tries: how often the library itself tries, for files that are read without `Files`.
    """
    try:
        import s3fs
    except ImportError as error:
        remedy = "Use an image of this version, or pip install s3fs."
        raise StorageRefused(WHERE, f"this installation cannot speak S3: {error}", remedy=remedy) from error
    fs = s3fs.S3FileSystem(
        use_listings_cache=False,
        skip_instance_cache=True,
        default_cache_type="readahead",
        config_kwargs={
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": READ_SECONDS,
            "retries": {"mode": "standard", "total_max_attempts": 1},
        },
    )
    fs.retries = tries
    return S3Files(fs, patience_seconds)


def _asked(files: S3Files, path: str, ask: Callable[[], T]) -> T:
    """The answer to a question, asked again while the service is busy or silent.

    Raises FileNotFoundError and FileExistsError for an object that is not there or is; StorageRefused for what no
    further try changes, StorageUnreachable after the deadline.
    """
    deadline = monotonic() + files.patience_seconds
    tries = 0
    while True:
        try:
            return ask()
        except Exception as error:
            kind = meaning(path, error)
            if not isinstance(kind, StorageUnreachable):
                if kind is error:
                    raise
                raise kind from error
            pause = PAUSES_SECONDS[min(tries, len(PAUSES_SECONDS) - 1)]
            if monotonic() + pause >= deadline:
                raise kind from error
        tries += 1
        sleep(pause)


def meaning(path: str, error: Exception) -> Exception:
    """What an error of the libraries means; itself if it is a fault of ours."""
    from botocore.exceptions import BotoCoreError, NoCredentialsError, PartialCredentialsError

    url = f"s3://{path}"
    code, status = _refusal(error)
    if code or status:
        return _refused(url, code, status, error)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        remedy = "Name a Secret with both keys in storage.s3.credentialsSecret."
        return StorageRefused(WHERE, f"{url}: there are no credentials", remedy=remedy)
    if isinstance(error, BotoCoreError | TimeoutError | ConnectionError):
        return StorageUnreachable(f"{url}: the storage service does not answer ({type(error).__name__}: {error}).")
    return error


def _refused(url: str, code: str, status: int, error: Exception) -> Exception:
    """What a refusal by the service means."""
    if code in TAKEN:
        return FileExistsError(url)
    if code == "NoSuchBucket":
        return StorageRefused(WHERE, f"{url}: the bucket does not exist", remedy="Make it, or correct storage.s3.uri.")
    if isinstance(error, FileNotFoundError):
        return error
    if code in PASSING or status == 429 or status >= 500:
        return StorageUnreachable(f"{url}: the storage service refuses for now ({code or status}).")
    if status in (401, 403):
        return StorageRefused(WHERE, f"{url}: no access ({code})", remedy=f"Grant {RIGHTS}.")
    return StorageRefused(WHERE, f"{url}: the storage service refuses ({code}: {error})")


def _refusal(error: Exception) -> tuple[str, int]:
    """Code and HTTP status of a refusal by the service; empty and 0 for any other error."""
    from botocore.exceptions import ClientError

    cause = error if isinstance(error, ClientError) else error.__cause__
    if not isinstance(cause, ClientError):
        return "", 0
    status = int(cause.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return str(cause.response.get("Error", {}).get("Code", "")), status
