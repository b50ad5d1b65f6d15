"""Frames on the socket between supervisor and cell: four bytes of length, big-endian, then that many bytes of JSON."""

import os
import struct

LENGTH = struct.Struct(">I")
CHUNK_BYTES = 64 * 2**10
"""Read at once; a short frame comes whole, with one call."""


class FrameTooLong(ValueError):
    """The peer announced a longer frame than is allowed."""


class FrameReader:
    """Frames from a descriptor, blocking. Uses only read(2)."""

    def __init__(self, descriptor: int, limit_bytes: int) -> None:
        self._descriptor = descriptor
        self._limit_bytes = limit_bytes
        self._held = bytearray()

    def read(self) -> bytes | None:
        """Next frame; None when the peer has closed, even in the middle of one. Raises FrameTooLong."""
        if not self._held:
            part = os.read(self._descriptor, CHUNK_BYTES)
            if (frame := whole_frame(part, self._limit_bytes)) is not None or not part:
                return frame
            self._held += part
        while (frame := take_frame(self._held, self._limit_bytes)) is None:
            part = os.read(self._descriptor, CHUNK_BYTES)
            if not part:
                return None
            self._held += part
        return frame


def take_frame(held: bytearray, limit_bytes: int) -> bytes | None:
    """Cut the first frame off `held`, or None while it is not complete. Raises FrameTooLong as soon as it is known."""
    if len(held) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack_from(held)
    if length > limit_bytes:
        raise FrameTooLong(f"a frame of {length} bytes; at most {limit_bytes} are allowed")
    end = LENGTH.size + length
    if len(held) < end:
        return None
    frame = bytes(memoryview(held)[LENGTH.size : end])
    del held[:end]
    return frame


def whole_frame(part: bytes, limit_bytes: int) -> bytes | None:
    """The frame that `part` is and nothing else; None if it is anything else, to be looked at by `take_frame`."""
    if LENGTH.size <= len(part) <= LENGTH.size + limit_bytes:
        (length,) = LENGTH.unpack_from(part)
        if length == len(part) - LENGTH.size:
            return part[LENGTH.size :]
    return None


def write_frame(descriptor: int, payload: bytes) -> None:
    """Send one frame, blocking. Uses only write(2)."""
    frame = framed(payload)
    sent = os.write(descriptor, frame)
    while sent < len(frame):
        sent += os.write(descriptor, memoryview(frame)[sent:])


def framed(payload: bytes) -> bytes:
    """A frame as it goes over the socket."""
    return LENGTH.pack(len(payload)) + payload
