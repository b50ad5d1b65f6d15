"""`spade score` and `python -m spade_trainer.rewards` read a file or standard input and print JSON."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spade_cli.main import app
from spade_contracts.errors import InvalidInput

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "scoring"
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from spade_cli.main import main; main()"


@pytest.mark.parametrize(("arguments", "name"), [([], "blend"), (["--batch"], "batch"), (["--loss"], "loss")])
def test_a_file_and_standard_input_are_scored_alike(arguments: list[str], name: str) -> None:
    path = EXAMPLES / f"{name}.json"
    from_file = CliRunner().invoke(app, ["score", *arguments, str(path)], catch_exceptions=False)
    from_input = CliRunner().invoke(app, ["score", *arguments, "-"], input=path.read_text(), catch_exceptions=False)
    assert from_file.exit_code == 0
    assert json.loads(from_file.stdout)["profile"] == "Paper"
    assert from_file.stdout == from_input.stdout


def test_a_file_is_a_batch_or_a_loss() -> None:
    with pytest.raises(InvalidInput, match="write one of them"):
        CliRunner().invoke(app, ["score", "--batch", "--loss", "-"], input="{}", catch_exceptions=False)


@pytest.mark.parametrize("program", [["-c", WITHOUT_TORCH, "score"], ["-m", "spade_trainer.rewards"]])
def test_both_commands_score_without_torch_and_end_with_2_on_a_wrong_file(program: list[str]) -> None:
    def run(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *program, "-"], input=text, check=False, capture_output=True, text=True, timeout=120
        )

    good, wrong = run((EXAMPLES / "regret.json").read_text()), run('{"environments": [{"id": 3}]}')
    assert good.returncode == 0
    assert [row["advantage"] for row in json.loads(good.stdout)["environments"]] == pytest.approx([8, 0, -16, 8])
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "$.environments[0].id: is 3, not text. Put it in quotes." in wrong.stderr.replace("\n", " ")


def test_a_reader_that_goes_away_is_told_nothing() -> None:
    command = [sys.executable, "-m", "spade_trainer.rewards", str(EXAMPLES / "blend.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        told = running.stderr.read()
        assert (running.wait(timeout=120), told) == (1, "")
