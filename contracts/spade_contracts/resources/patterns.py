"""What to write in place of a text that does not fit one of the patterns of our objects."""

import re
from collections.abc import Mapping

from spade_contracts.resources.s3 import ENDPOINT_PATTERN, URI_PATTERN
from spade_contracts.resources.scalars import (
    ANNOTATION_KEYS,
    ANNOTATION_PATTERN,
    LABEL_KEY_PATTERN,
    LABEL_KEYS,
    LABEL_VALUE_PATTERN,
    NAMES_MESSAGE,
    OBJECT_NAME_PATTERN,
    QUANTITY_PATTERN,
    RESOURCE_PATTERN,
    VARIABLE_PATTERN,
    VARIABLES,
)

SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt])(i?)b?", re.IGNORECASE)
"""A size as people write it: 5GB, 5 gib."""
WORDS: Mapping[str, str] = {
    QUANTITY_PATTERN: "write a number with one of the units m, k, M, G, T, Ki, Mi, Gi and Ti, or without: 5Gi, 500m, 2",
    LABEL_KEY_PATTERN: str(LABEL_KEYS[NAMES_MESSAGE]),
    ANNOTATION_PATTERN: str(ANNOTATION_KEYS[NAMES_MESSAGE]),
    VARIABLE_PATTERN: str(VARIABLES[NAMES_MESSAGE]),
    LABEL_VALUE_PATTERN: "write letters, digits, -, _ and ., with a letter or digit at both ends",
    RESOURCE_PATTERN: "write cpu, memory, ephemeral-storage, hugepages-SIZE, or a name with a domain: nvidia.com/gpu",
    OBJECT_NAME_PATTERN: "write small letters, digits, - and ., with a letter or digit at both ends of each part",
    URI_PATTERN: "write s3://BUCKET or s3://BUCKET/PREFIX, the bucket in small letters, digits, - and .",
    ENDPOINT_PATTERN: "write https://HOST or https://HOST:PORT, without a path or a password",
    r"^[0-9a-f]{40}$": "write 40 hexadecimal digits in small letters",
    r"^([0-9a-f]{64})?$": "write 64 hexadecimal digits in small letters",
}
"""By pattern."""


def fitting(value: str, pattern: str) -> str:
    """What to write, as a sentence."""
    words = WORDS.get(pattern, f"write what fits {pattern}")
    size = SIZE.fullmatch(value.strip()) if pattern == QUANTITY_PATTERN else None
    if size is not None:
        number, unit, binary = size[1], size[2].upper(), f"{size[1]}{size[2].upper()}i"
        words = f"write {binary}" if size[3] else f"write {number}{'k' if unit == 'K' else unit} or {binary}"
    return f"{words[0].upper()}{words[1:]}."
