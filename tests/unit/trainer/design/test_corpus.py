"""A corpus is read row by row, what is no document of it is counted, and documents are drawn as the reference does."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_contracts.config import CorpusConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.errors import InvalidInput
from spade_contracts.statuses import LeftOut
from spade_trainer.design.corpus import draw_document, parse_corpus, shortened, shortened_to_tokens
from spade_trainer.design.corpus_files import CorpusNotFound, rows
from spade_trainer.design.corpus_index import Corpus, CorpusChanged, index_corpus, open_corpus, write_index
from spade_trainer.design.draws import Choose
from spade_trainer.store.objects import open_store


def python_random(rng: random.Random) -> Choose:
    """Choices as the reference makes them."""
    return lambda n, k: rng.sample(range(n), k)


def corpus_settings(uri: str, profile: Profile = Profile.PAPER, **changes: Any) -> CorpusConfig:
    return resolve(profile, {"environments": {"corpus": {"uri": uri, **changes}}}).environments.corpus


def opened(uri: str, **changes: Any) -> Corpus:
    return Corpus(uri, index_corpus(corpus_settings(uri, **changes)))


def written(path: Path, entries: list[Any]) -> str:
    """A file with one JSON value a line, texts as they are; its URI."""
    lines = (entry if isinstance(entry, str) else json.dumps(entry) for entry in entries)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path.as_uri()


def texts(corpus: Corpus) -> list[str]:
    return [corpus[number].text for number in range(len(corpus))]


def v18_lines() -> list[str]:
    lines = [json.dumps({"text": f"t{number}"}) for number in range(50)]
    lines += ["", "{bad", json.dumps({"text": ""}), json.dumps([1])]
    return [*lines, json.dumps({"orig_doc": "A B C D", "text": "zz", "source": "w"})]


def test_v18_documents_are_read_and_drawn() -> None:
    documents = tuple(parse_corpus(v18_lines()))
    assert len(documents) == 51
    choose = python_random(random.Random(42))
    assert [draw_document(documents, choose).id for _ in range(6)] == ["40", "7", "1", "47", "17", "15"]
    assert shortened(documents[-1].text, 3) == "A B C\n[Document truncated at ~3 words]"
    assert shortened(documents[-1].text, 4) == "A B C D"
    assert documents[-1].metadata == {"source": "w"}


def test_v18_documents_of_a_file_are_the_same_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    corpus = opened(written(tmp_path / "corpus.jsonl", list(v18_lines())))
    choose = python_random(random.Random(42))
    assert [draw_document(corpus, choose).id for _ in range(6)] == ["40", "7", "1", "47", "17", "15"]
    assert [corpus[number] for number in range(51)] == list(parse_corpus(v18_lines()))
    assert corpus.index.left_out == {LeftOut.UNREADABLE: 2, LeftOut.WITHOUT_TEXT: 1}


ENTRY = st.one_of(
    st.fixed_dictionaries({"text": st.text()}, optional={"orig_doc": st.text(), "id": st.integers(), "x": st.none()}),
    st.none(),
    st.lists(st.integers(), max_size=2),
)


@given(st.lists(ENTRY, max_size=20))
def test_reading_by_place_gives_what_reading_in_order_gives(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Any]
) -> None:
    lines = [json.dumps(entry) for entry in entries]
    uri = written(tmp_path_factory.mktemp("corpus") / "c.jsonl", list(lines))
    wanted = list(parse_corpus(lines))
    if not wanted:
        with pytest.raises(InvalidInput, match="holds no document"):
            index_corpus(corpus_settings(uri))
    else:
        corpus = opened(uri)
        assert [corpus[number] for number in range(len(corpus))] == wanted
        assert sum(corpus.index.left_out.values()) + len(corpus) == len(lines)


def test_parquet_and_compressed_lines_hold_the_same_documents(tmp_path: Path) -> None:
    entries = [{"text": f"Document {number}.", "title": f"Title {number}"} for number in range(300)]
    plain = opened(written(tmp_path / "c.jsonl", list(entries)))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress((tmp_path / "c.jsonl").read_bytes()))
    pq.write_table(pa.Table.from_pylist(entries), tmp_path / "c.parquet", row_group_size=70)
    for name in ("c.jsonl.gz", "c.parquet"):
        other = opened((tmp_path / name).as_uri())
        assert [other[number] for number in (0, 69, 70, 299)] == [plain[number] for number in (0, 69, 70, 299)]
        assert len(other) == 300


def test_corpus_that_we_ship_has_no_duplicates_and_all_its_documents() -> None:
    corpus = opened("package:mini", profile=Profile.CORRECTED)
    assert len(corpus) == 64
    assert corpus.index.left_out == {}


LONG = " ".join(f"word{number}" for number in range(60))


def test_documents_that_repeat_earlier_ones_are_left_out_in_corrected_and_kept_in_paper(tmp_path: Path) -> None:
    uri = written(
        tmp_path / "c.jsonl",
        [{"text": LONG}, {"text": LONG.upper() + "  "}, {"text": LONG + " end"}, {"text": "Something else."}],
    )
    assert len(opened(uri)) == 4
    exact = opened(uri, duplicates="Exact")
    assert (len(exact), exact.index.left_out) == (3, {LeftOut.DUPLICATE: 1})
    near = opened(uri, profile=Profile.CORRECTED)
    assert texts(near) == [LONG, "Something else."]
    assert near.index.left_out == {LeftOut.DUPLICATE: 1, LeftOut.NEAR_DUPLICATE: 1}
    assert [near[number].id for number in range(2)] == ["0", "3"]


@settings(max_examples=30)
@given(st.integers(0, 30), st.integers(0, 10**6))
def test_near_duplicates_are_told_by_their_true_similarity(
    tmp_path_factory: pytest.TempPathFactory, changed: int, seed: int
) -> None:
    words = [f"w{seed}x{number}" for number in range(200)]
    other = words[: len(words) - changed] + [f"v{seed}x{number}" for number in range(changed)]
    similarity = (196 - changed) / (196 + changed)
    uri = written(tmp_path_factory.mktemp("corpus") / "c.jsonl", [{"text": " ".join(words)}, {"text": " ".join(other)}])
    assert len(opened(uri, duplicates="Near", near=0.8)) == (1 if similarity >= 0.8 else 2)


def test_documents_that_repeat_an_evaluation_set_are_left_out(tmp_path: Path) -> None:
    question = " ".join(f"q{number}" for number in range(13))
    (tmp_path / "set.txt").write_text(question)
    uri = written(
        tmp_path / "c.jsonl", [{"text": f"See: {question}, they say."}, {"text": question[: question.rindex(" ")]}]
    )
    lists = {"lists": ((tmp_path / "set.txt").as_uri(),)}
    corpus = opened(uri, contamination=lists)
    assert corpus.index.left_out == {LeftOut.CONTAMINATED: 1}
    assert len(corpus) == 1
    assert len(opened(uri, contamination={**lists, "max_overlaps": 1})) == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no line at all"),
        ("\n\n", "no line at all"),
        ("not json\n", "1 unreadable"),
        ('{"text": ""}\n{"text": " "}\n{"other": 1}\n', "3 without_text"),
    ],
)
def test_corpus_without_documents_says_what_its_lines_are(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "c.jsonl").write_text(content)
    with pytest.raises(InvalidInput, match=says):
        index_corpus(corpus_settings((tmp_path / "c.jsonl").as_uri()))


def test_corpus_of_one_document_over_and_over_is_one_document(tmp_path: Path) -> None:
    corpus = opened(written(tmp_path / "c.jsonl", [{"text": "The same."}] * 50), profile=Profile.CORRECTED)
    assert (len(corpus), corpus.index.left_out) == (1, {LeftOut.DUPLICATE: 49})


def test_document_of_a_hundred_thousand_words_is_cut_with_a_note() -> None:
    short = shortened("word " * 100_000, 6000)
    assert short.startswith("word word")
    assert len(short.split()) == 6000 + len(["[Document", "truncated", "at", "~6000", "words]"])
    tokens = shortened_to_tokens(short, 500, lambda part: 3 * len(part.split()))
    assert 400 < 3 * len(tokens.split()) <= 500
    assert tokens.endswith("words]")


@given(st.text(alphabet="ab \n", max_size=200), st.integers(1, 60))
def test_text_cut_by_tokens_has_at_most_so_many_or_one_word(text: str, limit: int) -> None:
    cut = shortened_to_tokens(text, limit, len)
    one_word = cut.partition("\n[Document")[0]
    assert len(cut) <= limit or len(one_word.split()) <= 1


@pytest.mark.parametrize(
    ("uri", "error"),
    [
        ("file:///nowhere/none.jsonl", CorpusNotFound),
        ("package:none", CorpusNotFound),
        ("package:../design/prompt", CorpusNotFound),
        ("file://host/corpus", InvalidInput),
        ("nonsense://bucket/corpus", InvalidInput),
        ("corpus.jsonl", InvalidInput),
    ],
)
def test_corpus_that_cannot_be_opened_is_refused(uri: str, error: type[InvalidInput]) -> None:
    with pytest.raises(error):
        index_corpus(corpus_settings(uri))


def test_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidInput, match="is no Parquet file"):
        list(rows((tmp_path / "c.parquet").as_uri()))


def test_index_in_run_storage_is_used_and_another_file_is_noticed(tmp_path: Path) -> None:
    store = open_store((tmp_path / "run").as_uri())
    uri = written(tmp_path / "c.jsonl", [{"text": "One."}, {"text": "Two."}])
    config = corpus_settings(uri)
    write_index(store, index_corpus(config))
    corpus = open_corpus(store, config)
    assert [corpus[number].text for number in range(len(corpus))] == ["One.", "Two."]
    written(tmp_path / "c.jsonl", [{"text": "Three."}, {"text": "Four."}])
    with pytest.raises(CorpusChanged, match="prepared with"):
        open_corpus(store, config)


def test_row_that_is_gone_is_noticed_when_it_is_drawn(tmp_path: Path) -> None:
    corpus = opened(written(tmp_path / "c.jsonl", [{"text": "One."}]))
    (tmp_path / "c.jsonl").write_bytes(b"x" * (tmp_path / "c.jsonl").stat().st_size)
    with pytest.raises(CorpusChanged):
        corpus[0]


def test_run_without_a_corpus_has_no_documents(tmp_path: Path) -> None:
    assert len(open_corpus(open_store(tmp_path.as_uri()), corpus_settings(""))) == 0
