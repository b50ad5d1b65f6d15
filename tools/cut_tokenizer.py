"""Cut a real model's `tokenizer.json` down to what a test can hold: `python tools/cut_tokenizer.py IN OUT [MERGES]`.

Normaliser, pre-tokeniser, decoder and added tokens stay as they are; of the merges the first ones stay. Every token
that stays has its real number, so the vocabulary has gaps, and a word takes more tokens than in the model.
"""

import json
import sys
from pathlib import Path
from typing import Any

MERGES = 2000


def cut(whole: dict[str, Any], merges: int) -> dict[str, Any]:
    """The tokeniser with its first merges, and with the bytes and tokens that those can make."""
    kept = whole["model"]["merges"][:merges]
    made = {"".join(pair) for pair in kept}
    parts = {part for pair in kept for part in pair}
    vocabulary = {
        token: number
        for token, number in whole["model"]["vocab"].items()
        if len(token) == 1 or token in made or token in parts
    }
    # Without an entry of their own in the vocabulary, the library numbers added tokens behind its last one.
    vocabulary |= {token["content"]: token["id"] for token in whole["added_tokens"]}
    return whole | {"model": whole["model"] | {"vocab": vocabulary, "merges": kept}}


def main() -> None:
    """Read the first file, write the second."""
    source, target, *more = sys.argv[1:]
    small = cut(json.loads(Path(source).read_text(encoding="utf-8")), int(more[0]) if more else MERGES)
    Path(target).write_text(json.dumps(small, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
