"""A cell holds numpy exactly where a program's text names it, and then everything that it loads late."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spade_contracts.libraries import names_numpy
from spade_sandbox import verify

_LOOK = """
import json, sys
from spade_sandbox.pod import libraries, zygote
libraries.import_all(numpy="numpy" in sys.argv[1:])
print(json.dumps([sorted(sys.modules), sorted(libraries.injected_names())]))
"""


@pytest.mark.parametrize(
    "source",
    ["import numpy", "import numpy as n", "from numpy.random import default_rng", "x = np.zeros(3)", "numpy.sum([1])"],
)
def test_program_that_can_reach_numpy_names_it(source: str) -> None:
    assert names_numpy(source)


@pytest.mark.parametrize("source", ["", "import math", "# inputs and outputs", "snp = 1; numpyish = 2"])
def test_other_words_are_not_its_name(source: str) -> None:
    assert not names_numpy(source)


def test_text_that_plays_mutants_asks_for_no_more_than_its_program_does() -> None:
    assert not names_numpy((Path(verify.__file__).parent / "mutant_cell.py").read_text())


@pytest.mark.parametrize("words", [(), ("numpy",)])
def test_what_a_zygote_imports(words: tuple[str, ...]) -> None:
    printed = subprocess.run([sys.executable, "-c", _LOOK, *words], capture_output=True, check=True, timeout=120).stdout
    modules, names = json.loads(printed)
    assert ("numpy" in modules) is bool(words), "nothing of ours may bring it along"
    assert ("np" in names) is bool(words)
    assert {"math", "statistics", "_strptime"} <= {*modules}
