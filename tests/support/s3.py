"""An S3 service in this process, with the conditional writes of the real one and faults on demand."""

import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

KEYS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass
class Faults:
    """What the service answers in place of what is asked: (method, code, status), oldest first."""

    waiting: list[tuple[str, str, int]] = field(default_factory=list)
    answered: int = 0
    ignores_conditions: bool = False
    """Whether it takes a conditional write for a plain one, as services do that do not know it."""


@dataclass(frozen=True)
class S3Service:
    """A running service."""

    url: str
    faults: Faults
    environment: dict[str, str]
    """What its clients need."""

    def bucket(self) -> str:
        """A new, empty bucket."""
        import boto3

        name = f"bucket-{uuid.uuid4().hex[:12]}"
        boto3.client("s3").create_bucket(Bucket=name)
        return name


@contextmanager
def s3_service(staging: Path) -> Iterator[S3Service]:
    """A service on loopback; this process and its children are its clients meanwhile."""
    from moto.moto_server.werkzeug_app import create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Silent(WSGIRequestHandler):
        def log(self, *_: object) -> None:
            pass

    faults = Faults()
    app = _faulty(create_backend_app("s3"), faults)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.port}"
    environment = {**KEYS, "AWS_ENDPOINT_URL_S3": url, "SPADE_STAGING": str(staging)}
    try:
        with mock.patch.dict(os.environ, environment):
            yield S3Service(url, faults, environment)
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def _faulty(app: Any, faults: Faults) -> Any:
    """The service with its faults in front."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        wanted = faults.waiting[0] if faults.waiting else None
        if wanted is not None and wanted[0] in ("*", environ["REQUEST_METHOD"]):
            _, code, status = faults.waiting.pop(0)
            faults.answered += 1
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            body = f"<Error><Code>{code}</Code><Message>on demand</Message></Error>".encode()
            content = b"" if environ["REQUEST_METHOD"] == "HEAD" else body
            start_response(f"{status} Fault", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
            return [content]
        if faults.ignores_conditions:
            environ.pop("HTTP_IF_NONE_MATCH", None)
        answered: Iterable[bytes] = app(environ, start_response)
        return answered

    return answer
