"""Run storage in a bucket: where it is and which Secret opens it. Secrets are named, never written."""

from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from spade_contracts.base import Document
from spade_contracts.resources.scalars import ObjectName
from spade_contracts.resources.volumes import not_ours

ACCESS_KEY, SECRET_KEY, SESSION_TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
"""Keys of the Secret, and the variables of the pods; the last one may be missing."""
BUCKET_PATTERN = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
PREFIX_PATTERN = r"(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*"

URI_PATTERN = f"^s3://{BUCKET_PATTERN}{PREFIX_PATTERN}$"
ENDPOINT_PATTERN = r"^https?://[A-Za-z0-9.:\[\]-]+/?$"

Endpoint = Annotated[str, StringConstraints(max_length=512, pattern=ENDPOINT_PATTERN)]


class S3Storage(Document):
    """A bucket of S3, or of a service that speaks its protocol and honours `If-None-Match: *` on PUT."""

    uri: Annotated[str, StringConstraints(max_length=512, pattern=URI_PATTERN)]
    """`s3://BUCKET` or `s3://BUCKET/PREFIX`. The run's folder is NAMESPACE/NAME below it."""
    endpoint_url: Endpoint | None = None
    """Address of another service than AWS, such as `https://minio.storage.svc:9000`. Workers, learner, engines and
    preparation must be let through to it: `egress` in the chart's values."""
    region: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z0-9-]+$")] = "us-east-1"
    """Region of the bucket."""
    credentials_secret: Annotated[ObjectName, AfterValidator(not_ours)]
    """Secret of the namespace with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN if there
    is one."""
