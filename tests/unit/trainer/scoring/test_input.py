"""What is wrong in a file is told with its JSON path, and nothing else happens."""

import json
from pathlib import Path

import pytest

from spade_contracts.errors import InvalidInput
from spade_trainer.rewards.returns import KNOWN_FAULTS
from spade_trainer.scoring.tool import MAX_BYTES, Kind, scored, scored_file

PAPER = {"profile": "Paper", "environments": [], "samples": []}


@pytest.mark.parametrize(
    ("kind", "text", "where", "says"),
    [
        (Kind.WINDOW, "[1", "$", "is no JSON"),
        (Kind.WINDOW, "[]", "$", "is no JSON object"),
        (Kind.WINDOW, "[" * 100_000, "$", "is nested too deeply"),
        (Kind.WINDOW, "{}", "$.environments", "is missing"),
        (Kind.WINDOW, '{"environments": [{"id": "a", "unhinted": [[NaN]]}]}', "$", "NaN is no number"),
        (Kind.WINDOW, '{"environments": [{"id": "a", "unhinted": [[1e999]]}]}', "$.environments[0].unhinted[0][0]", ""),
        (Kind.WINDOW, '{"environments": [{"id": "a", "unhinted": [["1"]]}]}', "$.environments[0].unhinted[0][0]", ""),
        (Kind.WINDOW, '{"environments": [{"id": "a", "unhinted": [[true]]}]}', "$.environments[0].unhinted[0][0]", ""),
        (Kind.WINDOW, '{"environments": [{"id": "a", "unhinted": 3}]}', "$.environments[0].unhinted", "is neither"),
        (Kind.WINDOW, '{"environments": [{"id": "a", "unhinted": {"-1": []}}]}', "$.environments[0]", "whole numbers"),
        (Kind.WINDOW, '{"environments": [{"id": "a", "unhinted": {"00": []}}]}', "$.environments[0]", "leading zeros"),
        (
            Kind.WINDOW,
            f'{{"environments": [{{"id": "a", "unhinted": {{"{"9" * 5000}": []}}}}]}}',
            "$.environments[0]",
            "",
        ),
        (Kind.WINDOW, '{"environments": [], "environments": []}', "$", 'the name "environments" is there twice'),
        (Kind.WINDOW, '{"environments": [], "a\\nb\\u001b": 1}', '$."a\\nb\\u001b"', "is no field"),
        (
            Kind.WINDOW,
            '{"environments": [{"id": "a", "unhinted": [[1e9]], "hinted": [0]}], "settings": {"rewards": '
            '{"regretFloor": false, "regretScale": 1e-320, "negativeBlends": "Trained"}}}',
            "$",
            "scales close to 0",
        ),
        (Kind.LOSS, '{"samples": [{"ratios": [-1]}]}', "$.samples[0].ratios[0]", "Write at least 0"),
        (Kind.LOSS, '{"samples": [{"train": [0], "advantage": 1, "denominator": 5e-324}]}', "$", "infinite"),
        (Kind.WINDOW, '{"environments": [{"id": "a", "hinted": [1], "hintReturn": 1}]}', "$.environments[0]", "one of"),
        (Kind.WINDOW, '{"environments": [{"id": "a", "hintReturn": 1}]}', "$.environments[0].hintReturn", "be paired"),
        (Kind.WINDOW, '{"environments": [{"id": "a"}, {"id": "a"}]}', "$.environments[1].id", "there twice"),
        (
            Kind.WINDOW,
            '{"environments": [{"id": "a", "unhintd": []}]}',
            "$.environments[0].unhintd",
            "Did you mean unhinted?",
        ),
        (Kind.WINDOW, '{"profile": "Papr", "environments": []}', "$.profile", "Write Corrected or Paper"),
        (
            Kind.WINDOW,
            '{"environments": [], "settings": {"rewards": {"variant": "LP"}}}',
            "$.settings.rewards.variant",
            "",
        ),
        (
            Kind.WINDOW,
            '{"environments": [], "settings": {"rewards": {"plateau": {"low": 0.9}}}}',
            "$.settings.rewards.plateau",
            "write the smaller value as low",
        ),
        (
            Kind.WINDOW,
            '{"environments": [], "settings": {"rewards": {"learningPotential": {"slow": 1}}}}',
            "$.settings.rewards.learningPotential",
            "is not below fast",
        ),
        (
            Kind.WINDOW,
            '{"environments": [], "settings": {"rewards": {"delayCycles": 0}}}',
            "$.settings.rewards",
            "whole",
        ),
        (
            Kind.WINDOW,
            '{"environments": [], "settings": {"rewards": {"regretscale": 1}}}',
            "$.settings.rewards.regretscale",
            "Did you mean regretScale?",
        ),
        (
            Kind.WINDOW,
            '{"environments": [], "settings": {"rewards": {"regretScale": 1, "regret_scale": 1}}}',
            "$.settings.rewards.regret_scale",
            "It is regretScale a second time",
        ),
        (
            Kind.WINDOW,
            '{"environments": [{"id": "a", "hintReturn": 1, "hint_return": 1}]}',
            "$.environments[0].hint_return",
            "It is hintReturn a second time",
        ),
        (
            Kind.BATCH,
            '{"environments": [{"id": "g", "episodes": [{"terminatd": true}]}]}',
            "$.environments[0].episodes[0].terminatd",
            "Did you mean terminated?",
        ),
        (
            Kind.BATCH,
            '{"environments": [{"id": "g", "episodes": [{"fault": "crash"}]}]}',
            "$.environments[0].episodes[0].fault",
            "'crash' is no fault of a program; write one of crash/call, crash/open",
        ),
        (
            Kind.BATCH,
            '{"environments": [{"id": "g", "episodes": [{"fault": "lost/step"}]}]}',
            "$.environments[0].episodes[0].fault",
            "is no fault of a program",
        ),
        (Kind.BATCH, '{"environments": [{"id": "g", "episodes": [1, true]}]}', "$.environments[0].episodes[1]", ""),
        (
            Kind.BATCH,
            '{"environments": [{"id": "g", "episodes": [{"return": "1"}]}]}',
            "$.environments[0].episodes[0].return",
            "",
        ),
        (
            Kind.BATCH,
            '{"environments": [{"id": "g", "episodes": [{"return": 1, "fault": "crash/step"}]}]}',
            "$.environments[0].episodes[0]",
            "both return and fault",
        ),
        (Kind.WINDOW, '{"environments": [{"id": "\\ud800"}]}', "$.environments[0].id", "half of a surrogate pair"),
        (Kind.WINDOW, '{"environments": [], "history": {"": [1]}}', '$.history.""', "has 0 characters"),
        (Kind.BATCH, '{"environments": [], "designers": [{"id": "d"}]}', "$.designers[0].reward", "is missing"),
        (Kind.LOSS, '{"samples": [{}]}', "$.samples[0].train", "is missing"),
        (Kind.LOSS, '{"samples": [{"train": [0], "rollout": [0, 0]}]}', "$.samples[0].rollout", "2 entries, but train"),
        (Kind.LOSS, '{"samples": [{"train": [0], "advantage": [0, 0]}]}', "$.samples[0].advantage", "2 entries"),
        (Kind.LOSS, '{"samples": [{"train": [0], "mask": [2]}]}', "$.samples[0].mask[0]", "none of 1, 0"),
        (Kind.LOSS, '{"samples": [{"train": [0], "values": [1]}]}', "$.samples[0].values", "leave the others out"),
        (Kind.LOSS, '{"samples": [{"train": [0], "old": [1], "ratios": [1]}]}', "$.samples[0].ratios", "one of them"),
        (Kind.LOSS, '{"samples": [], "batchDenominator": 0}', "$.batchDenominator", "more than 0"),
        (
            Kind.LOSS,
            '{"samples": [{"train": [0], "old": [-999], "advantage": -1e9}]}',
            "$",
            "infinite or no number",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_path(kind: Kind, text: str, where: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        scored(kind, text)
    assert caught.value.where == where
    assert says in str(caught.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidInput, match=r"Also wrong: \$\.environments\[1\]\.id"):
        scored(Kind.WINDOW, '{"environments": [{"id": 1}, {"id": 2}]}')


def test_names_may_be_written_in_snake_case_too() -> None:
    """As run.json spells settings, and Python the fields of the window."""
    camel = {
        "settings": {
            "rewards": {"regretScale": 0.3, "microLp": {"weight": 1}},
            "switches": {"regretEstimator": "Paired"},
        },
        "environments": [{"id": "a", "unhinted": [[1, 0]], "hinted": [1, 1], "stepTimeout": True}],
        "updateTrackers": False,
    }
    snake = {
        "settings": {
            "rewards": {"regret_scale": 0.3, "micro_lp": {"weight": 1}},
            "switches": {"regret_estimator": "Paired"},
        },
        "environments": [{"id": "a", "unhinted": [[1, 0]], "hinted": [1, 1], "step_timeout": True}],
        "update_trackers": False,
    }
    assert scored(Kind.WINDOW, json.dumps(camel)) == scored(Kind.WINDOW, json.dumps(snake))


def test_names_of_the_user_are_no_names_of_fields() -> None:
    document = {"environments": [], "history": {"step_timeout": [1], "stepTimeout": [0]}}
    assert sorted(json.loads(scored(Kind.WINDOW, json.dumps(document)))["skills"]) == ["stepTimeout", "step_timeout"]


def test_every_fault_that_an_episode_can_have_is_known() -> None:
    episodes = [{"fault": fault} for fault in sorted(KNOWN_FAULTS)]
    document = {"profile": "Paper", "environments": [{"id": "g", "episodes": episodes}]}
    (found,) = json.loads(scored(Kind.BATCH, json.dumps(document)))["environments"]
    paid = [play["fault"] for play, value in zip(episodes, found["returns"], strict=True) if value is not None]
    assert (len(episodes), paid) == (21, ["crash/step", "invalid_return/step"])


def test_a_mask_may_be_written_as_an_array_is() -> None:
    found = json.loads(scored(Kind.LOSS, '{"samples": [{"values": [1, 5], "mask": [1.0, 0.0]}]}'))
    assert found["loss"] == 1


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"/nowhere\.json: cannot be read"):
        scored_file(Kind.WINDOW, "/nowhere.json")


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    plain, marked = tmp_path / "plain.json", tmp_path / "marked.json"
    plain.write_text('{"environments": [{"id": "a"}]}')
    marked.write_text(plain.read_text(), encoding="utf-8-sig")
    assert scored_file(Kind.WINDOW, str(marked)) == scored_file(Kind.WINDOW, str(plain))


def test_standard_input_that_is_closed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InvalidInput, match="standard input is closed"):
        scored_file(Kind.WINDOW, "-")


def test_no_name_of_a_group_is_that_of_a_sample_without_one() -> None:
    samples = [{"values": [1, 1], "group": "[1]"}, {"values": [1]}]
    found = json.loads(scored(Kind.LOSS, json.dumps({"samples": samples})))
    assert [sample["denominator"] for sample in found["samples"]] == [2, 1]
    assert found["batchDenominator"] == 2


def test_a_file_that_is_no_text_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("scores") / "x.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="no UTF-8"):
        scored_file(Kind.WINDOW, str(path))


def test_a_file_that_is_too_large_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("scores") / "x.json"
    with path.open("wb") as sparse:
        sparse.truncate(MAX_BYTES + 1)
    with pytest.raises(InvalidInput, match="is larger than 64 MiB"):
        scored_file(Kind.WINDOW, str(path))


@pytest.mark.parametrize("kind", Kind)
def test_nothing_has_a_score_too(kind: Kind) -> None:
    document = {key: PAPER[key] for key in ("profile", "samples" if kind is Kind.LOSS else "environments")}
    found = json.loads(scored(kind, json.dumps(document)))
    assert found["profile"] == "Paper"
    assert found.get("loss", 0) == 0
    assert found.get("scale", 1) == 1
