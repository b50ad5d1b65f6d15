"""The digest of a policy's tensors, read from safetensors files without torch.

Learner, engine and workers must agree on it, so it is defined here once. For each tensor by sorted name:

    name UTF-8 · NUL · dtype as safetensors spells it (BF16, F32) · NUL · shape as "128,64" · NUL · the raw bytes

`update` feeds one tensor to a SHA-256; the order is the caller's duty. Bytes are little-endian and row-major, as in a
safetensors file.
"""

import hashlib
import itertools
import json
import math
import mmap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from spade_contracts.errors import InvalidInput

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAX_HEADER_BYTES = 100_000_000


class Hash(Protocol):
    """What `hashlib.sha256()` returns."""

    def update(self, data: "Buffer", /) -> None:
        """Feed bytes."""


@dataclass(frozen=True)
class TensorsDigest:
    """Digest and size of all tensors of a policy."""

    sha256: str
    tensors: int
    parameters: int
    """Elements of all tensors."""


@dataclass(frozen=True)
class _Tensor:
    """Where one tensor lies. start and end are offsets into the file, in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    start: int
    end: int


def update(digest: Hash, name: str, dtype: str, shape: Sequence[int], data: "Buffer") -> None:
    """Feed one tensor; call it in the order of sorted names."""
    sizes = ",".join(str(size) for size in shape)
    digest.update(f"{name}\0{dtype}\0{sizes}\0".encode())
    digest.update(data)


def tensor_names(files: Iterable[Path]) -> frozenset[str]:
    """Names of all tensors in safetensors files. Raises InvalidInput for a broken file."""
    return frozenset(tensor.name for file in files for tensor in _tensors(file))


def digest_files(files: Iterable[Path]) -> TensorsDigest:
    """Digest of all tensors in safetensors files. Raises InvalidInput for a broken file or a name that comes twice."""
    tensors = sorted((tensor for file in files for tensor in _tensors(file)), key=lambda tensor: tensor.name)
    twice = [a.name for a, b in itertools.pairwise(tensors) if a.name == b.name]
    if twice:
        raise InvalidInput(str(tensors[0].file.parent), f"tensor {twice[0]} is in two files")
    digest = hashlib.sha256()
    with ExitStack() as stack:
        views: dict[Path, mmap.mmap] = {}
        for tensor in tensors:
            if tensor.file not in views:
                opened = stack.enter_context(tensor.file.open("rb"))
                views[tensor.file] = stack.enter_context(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
            with memoryview(views[tensor.file]) as whole, whole[tensor.start : tensor.end] as part:
                update(digest, tensor.name, tensor.dtype, tensor.shape, part)
    return TensorsDigest(digest.hexdigest(), len(tensors), sum(math.prod(tensor.shape) for tensor in tensors))


def _tensors(file: Path) -> Iterator[_Tensor]:
    """Entries of one file's header."""
    size = file.stat().st_size
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if size < 8 or length > min(size - 8, MAX_HEADER_BYTES):
            raise InvalidInput(str(file), "is no safetensors file: its header does not fit")
        try:
            header = json.loads(opened.read(length))
        except ValueError as error:
            raise InvalidInput(str(file), "is no safetensors file: its header is no JSON") from error
    base = 8 + length
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        if not 0 <= start <= end <= size - base:
            raise InvalidInput(str(file), f"tensor {name} lies outside of the file; it was cut short")
        yield _Tensor(name, entry["dtype"], tuple(entry["shape"]), file, base + start, base + end)
