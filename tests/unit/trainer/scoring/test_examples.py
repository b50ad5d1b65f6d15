"""The examples of the page on scoring are what the page shows, and have the scores that it promises."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from spade_trainer.scoring.tool import Kind, scored_file

ROOT = Path(__file__).parents[4]
EXAMPLES = sorted((ROOT / "examples" / "scoring").glob("*.json"))
PAGE = (ROOT / "docs" / "scoring.md").read_text(encoding="utf-8")


def scores(name: str, kind: Kind = Kind.WINDOW) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(scored_file(kind, str(ROOT / "examples" / "scoring" / f"{name}.json")))
    return found


def column(found: dict[str, Any], key: str, rows: str = "environments") -> list[Any]:
    return [row[key] for row in found[rows]]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_stands_on_the_page_as_it_is(path: Path) -> None:
    assert f"`examples/scoring/{path.name}`:\n\n```json\n{path.read_text(encoding='utf-8')}```" in PAGE


def test_the_page_shows_no_other_examples() -> None:
    assert len(re.findall(r"^```json$", PAGE, re.MULTILINE)) == len(EXAMPLES)


def test_v10_blend() -> None:
    found = scores("blend")
    assert found["scale"] == 32
    assert column(found, "winRate") == pytest.approx([0.5, 1, 0.03125, 0.28125, 0, 0.5, 0])
    assert column(found, "plateau") == pytest.approx([1, 0, 0, 0.525, 0, 1, 0])
    assert column(found, "regret") == pytest.approx([0.0625, 0, 0.75, -0.025, 0, -0.05, 0])
    assert column(found, "reward") == pytest.approx([0.766667, 0, 0.4, 0.315, 0, 0.6, 0], abs=1e-6)
    expected = [12.088889, -12.444444, 0.355556, 2.76, -7.32, 11.88, -7.32]
    assert column(found, "advantage") == pytest.approx(expected, abs=1e-6)
    assert [column(found, "microLp")[at] for at in (2, 3)] == pytest.approx([0.1125, 0.2625])
    assert column(found, "mean")[::6] == pytest.approx([0.388889, 0.22875], abs=1e-6)


def test_corrected_pairs_masks_charges_and_leaves_out() -> None:
    found = scores("corrected")
    assert column(found, "pairs") == [3, 4, 1, 0]
    assert column(found, "masked") == [False, True, False, False]
    assert column(found, "cause") == ["Variant", "Variant", "Fault", "NoPlays"]
    assert column(found, "reward")[2:] == [-0.5, None]
    paired, spoiled, crashing, unknown = column(found, "advantage")
    assert (spoiled, unknown) == (None, None)
    assert paired == pytest.approx(-crashing)
    # 12 plays, of three designs of which something is known, over two rollouts
    assert found["scale"] == 8


def test_v12_regret() -> None:
    found = scores("regret")
    assert column(found, "advantage") == pytest.approx([8, 0, -16, 8])
    assert found["fractions"] == {"negativeRegret": 0.25, "masked": 0, "stepTimeout": 0.25}


def test_v13_learning_potential() -> None:
    found = scores("learning-potential")
    assert (found["skills"]["A"]["fast"], found["skills"]["A"]["slow"]) == pytest.approx((0.6225, 0.60625))
    assert column(found, "reward") == pytest.approx([0.39375, 0.35625])
    assert column(found, "advantage") == pytest.approx([0.6, -0.6])


def test_v5_variance_bonus() -> None:
    found = scores("variance-bonus")
    assert column(found, "varianceBonus") == pytest.approx([1, 0.043937, 0.822578], abs=1e-6)
    assert column(found, "reward") == pytest.approx([1, 0.543937, 1.072578], abs=1e-6)
    assert found["skills"]["A"]["slow"] == 0.5


def test_v15_at_generation() -> None:
    assert column(scores("generation"), "advantage") == pytest.approx([11.733333, 2.133333, -13.866667], abs=1e-6)


def test_micro_lp_and_solve_rate() -> None:
    gain, rate = scores("micro-lp"), scores("solve-rate")
    assert gain["scale"] == 18
    assert column(gain, "reward") == pytest.approx([0.75, 0])
    assert column(gain, "advantage") == pytest.approx([6.75, -6.75])
    assert column(rate, "reward") == pytest.approx([0.625, 1])
    assert rate["scale"] == 1


def test_a_batch_in_order_with_what_was_trimmed_and_left_out() -> None:
    found = scores("batch", Kind.BATCH)
    assert column(found, "id", "samples") == ["d0", "d1", "g0/0", "g0/1", "g0/2", "g1/0", "g1/1", "g1/2", "g2/0"]
    assert column(found, "id", "trimmed") == ["g2/2"]
    assert found["leftOut"] == [{"id": "d2", "reason": "OffSchedule"}, {"id": "d3", "reason": "NothingKnown"}]
    assert column(found, "returns") == [[1, 0, 0], [1, 0, -1], [1, None, 0]]
    assert (found["scale"], found["denominator"], found["rescale"]) == (16, 9, 1)
    assert column(found, "advantage", "samples")[:2] == [4, -4]


def test_a_short_batch_with_repeats_and_padding() -> None:
    found = scores("batch-short", Kind.BATCH)
    assert (found["counts"]["repeats"], found["counts"]["padding"]) == (4, 2)
    assert column(found, "repeat", "samples") == [0, 0, 1, 1, 2, 2, 1, 1]
    assert column(found, "trainedAdvantage", "samples") == pytest.approx([-1] * 6 + [0] * 2)
    assert found["environments"][0]["baselineAfter"] == pytest.approx(0.375)


def test_v20_and_v22_losses_by_token() -> None:
    found = scores("loss", Kind.LOSS)
    first, second = found["samples"]
    assert [token["weight"] for token in first["tokens"]] == pytest.approx([1, 2, 0.367879], abs=1e-6)
    assert [token["weight"] for token in second["tokens"]] == pytest.approx([0.951229, 2], abs=1e-6)
    assert [token["cut"] for token in first["tokens"] + second["tokens"]] == [False, True, False, False, True]
    assert first["policyLoss"] == pytest.approx((1 + 2 + 0.367879) / 3, abs=1e-6)
    assert found["loss"] == pytest.approx((first["policyLoss"] + second["policyLoss"] + 0.005 * first["kl"]) / 2)


def test_v21_and_v23_reductions() -> None:
    found = scores("loss-turns", Kind.LOSS)
    assert column(found, "policyLoss", "samples") == pytest.approx([4.5, 1, (-2 - 1.28 + 0.8) / 3])
    assert [token["clipped"] for token in found["samples"][2]["tokens"]] == [False, True, True]
