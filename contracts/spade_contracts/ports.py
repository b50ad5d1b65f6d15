"""TCP ports of our containers. Status ports are open and read-only; the others want a token (tokens.py)."""

SANDBOX_SESSIONS = 7400
SANDBOX_STATUS = 7401
WORKER_STATUS = 7410
ENGINE_DATA = 7420
ENGINE_CONTROL = 7421
ENGINE_STATUS = 7422
LEARNER_CONTROL = 7430
LEARNER_STATUS = 7431
LEARNER_RENDEZVOUS = 29500
OPERATOR_METRICS = 9090


def authority(host: str, port: int | str) -> str:
    """Host and port as they stand in a URL: an address of IP version 6 in brackets (RFC 3986 §3.2.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
