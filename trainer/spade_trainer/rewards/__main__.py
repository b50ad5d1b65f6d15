"""`python -m spade_trainer.rewards [--batch | --loss] FILE`: `spade score` where the command line is not installed."""

import argparse
import os
import sys

from spade_contracts.errors import SpadeError
from spade_trainer.scoring.tool import Kind, scored_file


def main() -> None:
    """Print the scores of a file. Exit code 2 if it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m spade_trainer.rewards", description="Score a file: docs/scoring.md."
    )
    parser.add_argument("file", help="JSON file, or - for standard input")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--batch", action="store_const", dest="kind", const=Kind.BATCH, help="the file is a batch")
    kind.add_argument("--loss", action="store_const", dest="kind", const=Kind.LOSS, help="the file has losses")
    arguments = parser.parse_args()
    try:
        print(scored_file(arguments.kind or Kind.WINDOW, arguments.file), flush=True)
    except SpadeError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from error
    except BrokenPipeError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left must not fail again at exit
        raise SystemExit(1) from error


if __name__ == "__main__":
    main()
