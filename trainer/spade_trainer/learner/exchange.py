"""Texts between ranks: small JSON as tensors, never pickles."""

from typing import Any

import torch
import torch.distributed as dist


def broadcast_text(text: str, group: Any, *, source: int = 0) -> str:
    """One rank's text on every rank; what the others pass is not looked at.

    group: a gloo group of all ranks. Raises what the group raises past its deadline, or when a rank is gone.
    """
    data = text.encode() if dist.get_rank() == source else b""
    size = torch.tensor([len(data)], dtype=torch.int64)
    dist.broadcast(size, src=source, group=group)
    body = torch.zeros(int(size.item()), dtype=torch.uint8)
    if data:
        body.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
    if len(body):
        dist.broadcast(body, src=source, group=group)
    return body.numpy().tobytes().decode()


def gather_texts(text: str, group: Any) -> list[str]:
    """Every rank's text, by rank, on every rank."""
    return [broadcast_text(text, group, source=rank) for rank in range(dist.get_world_size())]
