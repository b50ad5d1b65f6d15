"""`spade score FILE`: rewards, batches and losses of anybody's numbers."""

from spade_contracts.errors import InvalidInput
from spade_trainer.scoring.tool import Kind, scored_file


def scores(file: str, *, batch: bool, loss: bool) -> str:
    """The scores of a file as JSON text. Raises InvalidInput with the JSON path of what is wrong."""
    if batch and loss:
        raise InvalidInput("--batch and --loss", "a file is one of both; write one of them")
    return scored_file(Kind.BATCH if batch else Kind.LOSS if loss else Kind.WINDOW, file)
