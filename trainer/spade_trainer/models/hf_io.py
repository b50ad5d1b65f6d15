"""Policies on disk in Hugging Face's layout: configuration, safetensors, and what lies beside them."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from spade_contracts.errors import InvalidInput
from spade_trainer.store import layout

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
FILE_MODE = 0o644
"""safetensors and transformers write 0600, which another pod's user could not read."""
MAX_FILE_BYTES = 4 * 2**30


def read_config(folder: Path) -> dict[str, Any]:
    """The model's `config.json`. Raises InvalidInput if it is missing or no JSON object."""
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InvalidInput(str(path), f"no readable model configuration: {error}") from error
    if not isinstance(config, dict):
        raise InvalidInput(str(path), "a model configuration is a JSON object")
    return config


class Tensors:
    """The tensors of a policy, read one at a time."""

    def __init__(self, folder: Path, files: Mapping[str, Any]) -> None:
        self._folder = folder
        self._files = files

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors."""
        return frozenset(self._files)

    def read(self, name: str) -> Any:
        """One tensor as torch's. Raises InvalidInput if the policy has none of this name."""
        if name not in self._files:
            raise InvalidInput(str(self._folder), f"tensor {name} is missing")
        return self._files[name].get_tensor(name)


@contextmanager
def open_tensors(folder: Path) -> Iterator[Tensors]:
    """Open a policy's safetensors.

    Raises InvalidInput for a folder without any, a damaged file, or a tensor that is in two files.
    """
    from safetensors import SafetensorError, safe_open

    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise InvalidInput(str(folder), "no *.safetensors here; a policy is kept in Hugging Face's safetensors layout")
    files: dict[str, Any] = {}
    with ExitStack() as stack:
        for path in paths:
            try:
                opened = stack.enter_context(safe_open(path, framework="pt"))
            except SafetensorError as error:
                raise InvalidInput(str(path), f"damaged safetensors file: {error}") from error
            for name in opened.keys():  # noqa: SIM118 - not a mapping
                if name in files:
                    raise InvalidInput(str(path), f"tensor {name} is in two files")
                files[name] = opened
        yield Tensors(folder, files)


def write_tensors(folder: Path, tensors: Iterator[tuple[str, Any]], *, total_bytes: int) -> None:
    """Write a policy's tensors, which come one at a time, into files of at most about 4 GiB.

    total_bytes: bytes of all tensors, known beforehand; it decides the number in the files' names. With more than one
    file an index is written too.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    count = max(1, -(-total_bytes // MAX_FILE_BYTES))
    budget = -(-total_bytes // count)
    where: dict[str, str] = {}
    held: dict[str, Any] = {}
    held_bytes = written = 0

    def flush() -> None:
        nonlocal held_bytes, written
        written += 1
        name = "model.safetensors" if count == 1 else f"model-{written:05d}-of-{count:05d}.safetensors"
        save_file(held, folder / name, metadata={"format": "pt"})
        (folder / name).chmod(FILE_MODE)
        where.update(dict.fromkeys(held, name))
        held.clear()
        held_bytes = 0

    for name, tensor in tensors:
        held[name] = tensor.contiguous()
        held_bytes += tensor.numel() * tensor.element_size()
        if held_bytes >= budget and written < count - 1:
            flush()
    flush()
    if count > 1:
        body = {"metadata": {"total_size": total_bytes}, "weight_map": dict(sorted(where.items()))}
        (folder / INDEX).write_text(json.dumps(body, indent=2))


def copy_companions(source: Path, target: Path) -> None:
    """Copy everything of a policy that is not a tensor: configuration, tokenizer, chat template."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        ours = path.name in (layout.POLICY, INDEX) or path.name.startswith((".", "timings-"))
        if path.is_file() and path.suffix != ".safetensors" and not ours:
            shutil.copyfile(path, target / path.name)
            (target / path.name).chmod(FILE_MODE)
