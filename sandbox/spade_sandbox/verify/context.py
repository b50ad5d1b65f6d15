"""What the gate is told of the world around a program: the run's other programs, its corpus, models to ask."""

from dataclasses import dataclass

from spade_sandbox.verify.contamination import ContaminationIndex
from spade_sandbox.verify.difficulty import ProbePolicy
from spade_sandbox.verify.judge import Judge
from spade_sandbox.verify.moves import MAX_TURNS
from spade_sandbox.verify.novelty import Known


@dataclass(frozen=True)
class GateContext:
    """Nothing here is the program's own; what is missing is said in the verdict's facts, and a judge rejects for it."""

    max_turns: int = MAX_TURNS
    """Turns of an episode, as programs will be played."""
    documents: tuple[str, ...] = ()
    """Titles and names by which an observation would give the corpus document away."""
    known: Known | None = None
    """Programs of the batch, the memory and the run's history."""
    contamination: ContaminationIndex | None = None
    """Evaluation sets."""
    policy: ProbePolicy | None = None
    """Plays the probes of the difficulty estimate."""
    judge: Judge | None = None
    """The model judge."""
