"""Frames on the socket between supervisor and cell: four bytes of length, big-endian, then that many bytes of JSON."""

import asyncio
import os
import struct

_LENGTH = struct.Struct(">I")


class FrameTooLong(ValueError):
    """The peer announced a longer frame than is allowed."""


def read_frame(descriptor: int, limit_bytes: int) -> bytes | None:
    """Next frame, blocking; None when the peer has closed. Uses only read(2)."""
    head = _read_exactly(descriptor, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > limit_bytes:
        raise FrameTooLong(f"a frame of {length} bytes; at most {limit_bytes} are allowed")
    return _read_exactly(descriptor, length)


def write_frame(descriptor: int, payload: bytes) -> None:
    """Send one frame, blocking. Uses only write(2)."""
    rest = memoryview(_LENGTH.pack(len(payload)) + payload)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


async def receive_frame(reader: asyncio.StreamReader, limit_bytes: int) -> bytes | None:
    """Next frame from a cell; None when it has closed, even in the middle of a frame."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > limit_bytes:
            raise FrameTooLong(f"a frame of {length} bytes; at most {limit_bytes} are allowed")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def send_frame(writer: asyncio.StreamWriter, payload: bytes) -> None:
    """Send one frame to a cell; a dead cell shows when its answer is awaited."""
    try:
        writer.write(_LENGTH.pack(len(payload)) + payload)
        await writer.drain()
    except ConnectionError:
        return


def _read_exactly(descriptor: int, length: int) -> bytes | None:
    parts: list[bytes] = []
    while length:
        part = os.read(descriptor, min(length, 1 << 16))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
