"""The global random generators, which programs may draw from."""

import random
import sys


def seed(value: int) -> None:
    """Seed them, numpy's where a cell holds it."""
    random.seed(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(value % 2**32)
