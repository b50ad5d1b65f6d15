"""Write the mini corpus, documents that training has not seen: python -m tools.tiny_model.corpus --out FILE."""

import argparse
import json
from itertools import islice
from pathlib import Path
from random import Random

from tools.tiny_model.documents import draw_theme, write_document
from tools.tiny_model.evaluate import known_from_training

DOCUMENTS = 64
SEED = "mini corpus"


def main() -> None:
    """The same documents each time, one JSON object a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--training", type=Path, default=Path("tools/tiny_model/training.json"))
    arguments = parser.parse_args()
    known = known_from_training(json.loads(arguments.training.read_text())).documents
    rng = Random(SEED)
    drawn = (write_document(draw_theme(rng), rng) for _ in iter(int, 1))
    documents = list(islice((text for text in drawn if text not in known), DOCUMENTS))
    lines = [json.dumps({"id": f"mini-{n:02d}", "text": text}) for n, text in enumerate(documents)]
    arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
