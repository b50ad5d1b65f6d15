"""Ask a name server one question, without any resolver of the machine in between."""

from __future__ import annotations

import socket
import struct


def resolves(name: str, *, server: str, timeout_seconds: float = 1.0) -> bool:
    """Tell whether a name server knows an IPv4 address for a name."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.rstrip(".").split("."))
    question = struct.pack(">HHHHHH", 0x5AFE, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(timeout_seconds)
        try:
            client.sendto(question, (server, 53))
            answer = client.recv(2048)
        except OSError:
            return False
    identifier, flags, _, answers = struct.unpack(">HHHH", answer[:8])
    return bool(identifier == 0x5AFE and flags & 0xF == 0 and answers > 0)
