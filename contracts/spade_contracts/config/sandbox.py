"""What one environment program may use (design §7). The sandbox pod enforces these; run.json records them."""

from pydantic import Field

from spade_contracts.base import Document


class SandboxLimits(Document):
    """Limits of one cell."""

    memory_bytes: int = Field(default=256 * 2**20, ge=32 * 2**20, le=16 * 2**30)
    """Memory of the whole cell: its process above the bare interpreter, and its scratch files."""
    cpu_seconds: int = Field(default=60, ge=1, le=86400)
    """CPU time of the cell over its life."""
    load_seconds: float = Field(default=10.0, gt=0, le=600)
    """Wall clock of loading the program and of each reset."""
    step_seconds: float = Field(default=5.0, gt=0, le=600)
    """Wall clock of each step."""
    observation_characters: int = Field(default=20000, ge=100, le=500_000)
    """A longer observation is an invalid return."""
    action_characters: int = Field(default=100_000, ge=100, le=500_000)
    """Longer actions are cut (method.md §4.2)."""
    open_files: int = Field(default=32, ge=8, le=1024)
    """Open file descriptors."""
    file_bytes: int = Field(default=1 * 2**20, ge=0, le=2**30)
    """Size of the private scratch file system; at most half of the cell's memory is given to it."""
    output_bytes: int = Field(default=1 * 2**20, ge=0, le=2**30)
    """What the program may print over its life. It is thrown away."""
    recursion_depth: int = Field(default=1000, ge=100, le=10_000)
    """Python's recursion limit."""
