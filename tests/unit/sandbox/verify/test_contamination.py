"""Programs that repeat an evaluation set are found by their word n-grams; lists are read from wherever they lie."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.sandbox.verify.judged import judged

from spade_contracts.config import VerificationSettings
from spade_contracts.config.verification import ContaminationSettings
from spade_contracts.errors import InvalidInput
from spade_contracts.verdicts import Exchange, Operation, Reason, Stage
from spade_sandbox.verify.contamination import ContaminationIndex, check_contamination, load_index
from spade_sandbox.verify.trial import Trial

WORDS = 13
QUESTION = (
    "Eight people sit around a round table; find the number of ways in which no two of three judges sit side by side."
)
words = st.lists(st.sampled_from("abcdefgh"), max_size=40)


def index_of(folder: Path, *texts: str, length: int = WORDS) -> ContaminationIndex:
    """An index of one JSONL list."""
    file = folder / "set.jsonl"
    file.write_text("".join(json.dumps({"problem": text, "answer": "7"}) + "\n" for text in texts))
    return load_index([f"file://{file}"], length)


def game(text: str) -> str:
    return f"class AEnv:\n    def reset(self, seed=None):\n        return {text!r}, {{}}\n"


async def test_question_of_an_evaluation_set_is_found_without_case_and_punctuation(tmp_path: Path) -> None:
    index = index_of(tmp_path, "Something else.", QUESTION)
    verdict = await check_contamination(judged(game(QUESTION.upper().replace(",", " -"))), index)
    assert verdict is not None
    assert (verdict.stage, verdict.reason) == (Stage.CONTAMINATION, Reason.CONTAMINATED)
    assert "set.jsonl" in verdict.message
    assert "eight people sit around" in verdict.message


async def test_question_that_the_program_puts_together_is_found_in_what_it_says(tmp_path: Path) -> None:
    program = judged(game("built from pieces"))
    trial = Trial(program, "a control", 25, False)
    trial.exchanges.append(Exchange(op=Operation.RESET, seed=0, answer=json.dumps({"text": f"Now:\n{QUESTION}"})))
    program.trials.append(trial)
    assert await check_contamination(program, index_of(tmp_path, QUESTION)) is not None


async def test_shared_phrases_are_tolerated_up_to_the_setting(tmp_path: Path) -> None:
    shared = " ".join(QUESTION.split()[: WORDS + 2])
    index = index_of(tmp_path, QUESTION)
    for tolerated, rejected in ((2, True), (3, False)):
        asked = VerificationSettings(contamination=ContaminationSettings(max_overlaps=tolerated))
        program = judged(game(shared), settings=asked)
        assert (await check_contamination(program, index) is not None) is rejected
        assert program.facts["contamination_overlaps"] == 3.0


async def test_without_lists_the_verdict_says_that_nothing_was_compared() -> None:
    for index in (None, load_index([], WORDS)):
        program = judged(game(QUESTION))
        assert await check_contamination(program, index) is None
        assert program.facts["contamination"] == "nothing to compare with"


@settings(max_examples=40)
@given(known=words, asked=words, length=st.integers(2, 6))
def test_overlaps_are_exactly_the_shared_n_grams(
    tmp_path_factory: pytest.TempPathFactory, known: list[str], asked: list[str], length: int
) -> None:
    file = tmp_path_factory.mktemp("list") / "list.txt"
    file.write_text(" ".join(known))
    grams = [{tuple(text[at : at + length]) for at in range(len(text) - length + 1)} for text in (known, asked)]
    found = load_index([str(file)], length).overlaps([" ".join(asked)])
    assert sum(overlap.count for overlap in found) == len(grams[0] & grams[1])


def test_no_n_gram_spans_two_texts_or_two_entries(tmp_path: Path) -> None:
    first, second = QUESTION[:60], QUESTION[60:]
    assert not index_of(tmp_path, QUESTION, length=8).overlaps([first[:30], second[-20:]])
    file = tmp_path / "list.txt"
    file.write_text("one two three\n\nfour five six\n")
    assert not load_index([str(file)], 4).overlaps(["one two three four five six"])
    file.write_text("one two\nthree four five six\n")
    assert load_index([str(file)], 4).overlaps(["one two three four five six"])


def test_lists_may_be_compressed_and_lie_in_any_file_system(tmp_path: Path) -> None:
    import fsspec

    (tmp_path / "set.jsonl.gz").write_bytes(gzip.compress((json.dumps([QUESTION, {"x": [QUESTION]}]) + "\n").encode()))
    with fsspec.open("memory://lists/set.txt", "wt") as file:
        file.write(QUESTION)
    index = load_index([str(tmp_path / "set.jsonl.gz"), "memory://lists/set.txt"], WORDS)
    assert [overlap.uri for overlap in index.overlaps([QUESTION])] == [uri for uri, _ in index.lists]


def test_entries_too_short_to_compare_are_counted(tmp_path: Path) -> None:
    assert index_of(tmp_path, "What is seven times eight?", QUESTION).too_short == 3  # both answers too


@pytest.mark.parametrize(
    ("name", "content"),
    [("broken.jsonl", b"{no json"), ("letters.txt", b"\xff\xfe\xfa"), ("not_gzip.txt.gz", b"plain")],
)
def test_list_that_is_not_what_its_name_says_is_the_users_error(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=name):
        load_index([str(tmp_path / name)], WORDS)


def test_missing_list_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        load_index([str(tmp_path / "nowhere.jsonl")], WORDS)
