"""The cluster's scripts are not part of the distribution; tests import them from their folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "cluster"))
