"""What programs may import, imported ahead of all cells, and the names they find defined (method.md §4.1)."""

import importlib
import sys

from spade_contracts.libraries import ALLOWED_LIBRARIES

WARM: tuple[str, ...] = (
    "encodings.ascii", "encodings.latin_1", "encodings.utf_8", "encodings.utf_16", "encodings.hex_codec",
    "encodings.utf_32", "encodings.utf_8_sig", "encodings.unicode_escape", "encodings.raw_unicode_escape",
    "encodings.cp1252", "encodings.idna", "encodings.punycode", "encodings.rot_13", "json.decoder", "json.encoder",
    "_strptime", "_pydecimal", "_pyio", "_struct", "_datetime", "_heapq", "_bisect",
)  # fmt: skip
"""Modules that the allowed ones load late; a cell could not load them."""
WARM_NUMPY: tuple[str, ...] = ("numpy.linalg", "numpy.random", "numpy.fft", "numpy.polynomial")

_INJECTED_MODULES: tuple[str, ...] = (
    "itertools", "math", "random", "re", "json", "collections", "functools", "string", "copy", "heapq", "operator",
    "statistics", "typing",
)  # fmt: skip
_INJECTED_MEMBERS: dict[str, tuple[str, ...]] = {
    "typing": ("Any", "Callable", "Dict", "Iterable", "List", "Optional", "Sequence", "Set", "Tuple", "Union"),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple"),
    "itertools": ("accumulate", "chain", "combinations", "count", "cycle", "permutations", "product"),
    "functools": ("lru_cache", "partial", "reduce"),
    "dataclasses": ("dataclass", "field"),
    "enum": ("Enum",),
    "copy": ("deepcopy",),
    "heapq": ("heapify", "heappop", "heappush"),
}


def import_all(*, numpy: bool) -> None:
    """Import every library that programs may use, and what these load late. Raises ImportError."""
    for name in (*ALLOWED_LIBRARIES, *WARM, *(WARM_NUMPY if numpy else ())):
        if numpy or name != "numpy":
            importlib.import_module(name)


def injected_names() -> dict[str, object]:
    """Names that a program finds defined, so that a forgotten import is no fault (method.md §4.1)."""
    names: dict[str, object] = {name: importlib.import_module(name) for name in _INJECTED_MODULES}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        names |= {"numpy": numpy, "np": numpy}
    for module, members in _INJECTED_MEMBERS.items():
        home = importlib.import_module(module)
        names |= {member: getattr(home, member) for member in members}
    return names
