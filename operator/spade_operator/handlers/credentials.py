"""kopf speaks to the same API server with the same credentials as we do."""

import datetime
from typing import Any

import kopf

from spade_operator.handlers.memory import Memory

TOKEN_SECONDS = 300
"""kopf asks again after so long, because kubelets rotate tokens."""


@kopf.on.login()
async def log_in(memo: Memory, **_: Any) -> kopf.ConnectionInfo:
    """Credentials for the watches."""
    connection = memo.connection
    expiration = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=TOKEN_SECONDS)
    return kopf.ConnectionInfo(
        server=connection.server,
        ca_data=connection.ca or None,
        token=connection.bearer() or None,
        certificate_data=connection.certificate or None,
        private_key_data=connection.private_key or None,
        expiration=expiration if connection.token_file is not None else None,
    )
