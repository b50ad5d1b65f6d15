"""Procedural families in place of a designer: one program each, of a difficulty that grows with success (§10)."""

from enum import StrEnum

from pydantic import Field

from spade_contracts.base import Document

MAX_DIFFICULTY = 20


class Family(StrEnum):
    """A family of single-turn problems with exact answers. Shipped as environment programs; played in sandboxes."""

    DIVISION = "Division"
    """A quotient of two long integers."""
    EUCLID_GAME = "EuclidGame"
    """Who wins the game of taking multiples."""
    GCD_ONE_COUNTING = "GCDOne_Counting"
    """The number of coprime pairs."""
    HAMILTONIAN_PATH = "HamiltonianPath"
    """A least walk through all vertices."""
    LAMP_CHANGING = "LampChanging"
    """A lamp of a ring after some seconds."""
    LARGEST_CONVEX_POLYGON = "LargestConvexPolygon"
    """As many points as possible in convex position."""
    MULTIPLICATION = "Multiplication"
    """A product of two long integers."""
    PCP_PERMUTATION = "PCPPermutation"
    """An order of word pairs in which both rows spell the same."""
    PATH_NO_GOING_BACK_COUNTING = "Path_NoGoingBack_Counting"
    """The number of walks that never turn on the spot."""
    SAT = "SAT"
    """A satisfying assignment."""
    SHORTEST_PATH = "ShortestPath"
    """A least path between two vertices."""
    SORTING = "Sorting"
    """A list in ascending order."""
    SPIRAL_MATRIX = "SpiralMatrix"
    """A matrix along a spiral."""
    SUBSEQUENCE_REVERSAL_LNDS = "SubsequenceReversalLNDS"
    """The longest non-decreasing subsequence after one reversal."""
    UNDAMAGED_SUBMATRIX_COUNTING = "UndamagedSubmatrixCounting"
    """The number of rectangles of ones."""
    WYR_LEVELING_GROUND = "WYRLevelingGround"
    """The least number of passes that level a row of heights."""


ALL_FAMILIES = tuple(Family)


class FamiliesConfig(Document):
    """Which families, and how their difficulty grows: a window of levels that moves up (method.md §10).

    A cycle has one program of each family. Its level is drawn from the window's levels; all its plays in a rollout
    answer the same problem.
    """

    names: tuple[Family, ...] = Field(min_length=1, max_length=16)
    """Families of a run, by slot; environments.perCycle is their number."""
    window: int = Field(ge=1, le=MAX_DIFFICULTY + 1)
    """Levels that a problem may have: the top level and those below it, down to 0."""
    attempts: int = Field(ge=1, le=100_000)
    """Plays at the top level, over rollouts, after which the top level is looked at; then counting begins anew."""
    success: float = Field(gt=0, le=1)
    """Share of them that must be right for the top level to rise by one."""
    top: int = Field(ge=0, le=MAX_DIFFICULTY)
    """The top level rises no further. It begins at 0."""

    def check(self, per_cycle: int) -> None:
        """Raise ValueError unless every slot of a cycle has a family of its own."""
        if len(set(self.names)) != len(self.names):
            raise ValueError("environments.families.names names a family twice; name each once")
        if per_cycle != len(self.names):
            raise ValueError(
                f"environments.perCycle ({per_cycle}) is not the number of families ({len(self.names)}); write "
                f"perCycle: {len(self.names)}, or name other families"
            )
