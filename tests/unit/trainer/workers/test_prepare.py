"""Preparation accepts a run that can work, names what cannot, and changes nothing when done twice."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trainer.byte_model import CHATML, real_template, write_byte_model, write_weights

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.config.partial import merged
from spade_contracts.statuses import PrepareResult
from spade_contracts.tasks import PrepareTask, RunRef
from spade_trainer.store import manifests
from spade_trainer.store.objects import open_store
from spade_trainer.workers.prepare import prepare


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "One."}\n{"text": "Two."}\n')
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = write_byte_model(tmp_path / "model")
    write_weights(folder)
    (folder / "notes.md").write_text("not a model file")
    return folder


def settings(corpus: Path, **patch: Any) -> MethodConfig:
    small = {"environments": {"corpus": {"uri": corpus.as_uri()}}, "play": {"context_tokens": 1024}}
    return resolve(Profile.CORRECTED, merged(small, patch))


def task(tmp_path: Path, model: Path | str, method: MethodConfig, **changes: Any) -> PrepareTask:
    storage = changes.pop("storage", (tmp_path / "storage").as_uri())
    run = RunRef(namespace="default", name=changes.pop("name", "mini"), uid="u", storage_uri=storage)
    return PrepareTask(run=run, model_uri=model if isinstance(model, str) else model.as_uri(), method=method)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_accepted_run_has_its_policy_and_its_settings_in_storage(tmp_path: Path, model: Path, corpus: Path) -> None:
    method = settings(corpus)
    result = prepare(task(tmp_path, model, method))
    assert result == PrepareResult(accepted=True, model_parameters=2 * 24, model_experts=4, corpus_documents=2)
    store = open_store((tmp_path / "storage").as_uri())
    assert manifests.read_run(store).method == method
    assert set(manifests.read_policy(store, 0).files) == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    before = files(tmp_path / "storage")
    assert prepare(task(tmp_path, model, method)) == result
    assert files(tmp_path / "storage") == before
    assert (tmp_path / "storage/policies/0000/model.safetensors").stat().st_mode & 0o444 == 0o444


def test_a_folder_that_holds_another_run_is_refused_and_left_alone(tmp_path: Path, model: Path, corpus: Path) -> None:
    assert prepare(task(tmp_path, model, settings(corpus))).accepted
    before = files(tmp_path / "storage")
    for other in (
        task(tmp_path, model, settings(corpus, seed=1)),
        task(tmp_path, model, settings(corpus), name="maxi"),
        task(tmp_path, "package:tiny", settings(corpus)),
    ):
        result = prepare(other)
        assert (result.accepted, result.reason) == (False, "StorageConflict")
    assert files(tmp_path / "storage") == before


def test_a_half_copied_model_is_copied_again(tmp_path: Path, model: Path, corpus: Path) -> None:
    half = tmp_path / "storage/policies/0000"
    half.mkdir(parents=True)
    (half / "model.safetensors").write_bytes(b"half")
    (half / ".tokenizer.json.tmp").write_bytes(b"half")
    assert prepare(task(tmp_path, model, settings(corpus))).accepted
    assert (half / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()


def edit(path: Path, **changes: Any) -> None:
    content = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def make_dense(model: Path) -> None:
    edit(model / "config.json", architectures=["Qwen3ForCausalLM"], num_experts=None)
    write_weights(model)


@pytest.mark.parametrize(
    ("patch", "reason", "said"),
    [
        ({"learner": {"ranks": 2, "parallelism": {"expert": 2}}}, "ModelNotMoe", "no experts"),
        ({"learner": {"ranks": 4, "parallelism": {"tensor": 4}}}, "ModelUnsupported", "not divisible by 4"),
    ],
)
def test_a_dense_model_is_refused_with_a_layout_that_does_not_fit_it(
    tmp_path: Path, model: Path, corpus: Path, patch: dict[str, Any], reason: str, said: str
) -> None:
    make_dense(model)
    result = prepare(task(tmp_path, model, settings(corpus, **patch)))
    assert (result.accepted, result.reason) == (False, reason)
    assert said in result.message
    assert not (tmp_path / "storage/run.json").exists()


def test_a_dense_model_is_accepted_also_with_tensor_parallelism(tmp_path: Path, model: Path, corpus: Path) -> None:
    make_dense(model)
    edit(model / "config.json", vocab_size=272)
    patch = {"learner": {"ranks": 2, "parallelism": {"tensor": 2}}}
    result = prepare(task(tmp_path, model, settings(corpus, **patch)))
    assert (result.accepted, result.model_experts) == (True, 0)


def test_tensor_parallelism_of_a_mixture_of_experts_wants_expert_parallelism(
    tmp_path: Path, model: Path, corpus: Path
) -> None:
    patch = {"learner": {"ranks": 2, "parallelism": {"tensor": 2}}}
    result = prepare(task(tmp_path, model, settings(corpus, **patch)))
    assert (result.accepted, result.reason) == (False, "ModelUnsupported")
    assert "parallelism.expert" in result.message


def test_experts_that_do_not_divide_are_refused(tmp_path: Path, model: Path, corpus: Path) -> None:
    patch = {"learner": {"ranks": 3, "parallelism": {"expert": 3}}}
    result = prepare(task(tmp_path, model, settings(corpus, **patch)))
    assert (result.accepted, result.reason) == (False, "ModelUnsupported")
    assert "num_experts" in result.message


def test_a_model_with_missing_tensors_is_refused(tmp_path: Path, model: Path, corpus: Path) -> None:
    edit(model / "config.json", num_hidden_layers=2)
    result = prepare(task(tmp_path, model, settings(corpus)))
    assert (result.accepted, result.reason) == (False, "ModelUnsupported")
    assert "model.layers.1" in result.message


def test_a_chat_template_of_another_kind_is_refused(tmp_path: Path, model: Path, corpus: Path) -> None:
    edit(model / "tokenizer_config.json", chat_template=CHATML.replace("im_start", "start"))
    result = prepare(task(tmp_path, model, settings(corpus)))
    assert (result.accepted, result.reason) == (False, "ModelUnsupported")
    assert "ChatML" in result.message


def test_episodes_longer_than_the_model_reads_are_refused(tmp_path: Path, model: Path, corpus: Path) -> None:
    result = prepare(task(tmp_path, model, settings(corpus, play={"context_tokens": 8192})))
    assert (result.accepted, result.reason) == (False, "InvalidSpec")
    assert "4096" in result.message


@pytest.mark.parametrize("role", ["play", "environments.designer"])
def test_thinking_that_a_model_cannot_be_told_of_is_refused(
    tmp_path: Path, model: Path, corpus: Path, role: str
) -> None:
    patch: dict[str, Any] = {"thinking": "Enabled"}
    for name in reversed(role.split(".")):
        patch = {name: patch}
    result = prepare(task(tmp_path, model, settings(corpus, **patch)))
    assert (result.accepted, result.reason) == (False, "InvalidSpec")
    assert f"{role}.thinking" in result.message
    edit(model / "tokenizer_config.json", chat_template=real_template("qwen3"))
    assert prepare(task(tmp_path, model, settings(corpus, **patch), storage=(tmp_path / "other").as_uri())).accepted


def test_episodes_that_end_before_the_first_word_are_refused(tmp_path: Path, model: Path, corpus: Path) -> None:
    result = prepare(task(tmp_path, model, settings(corpus, play={"context_tokens": 64})))
    assert (result.accepted, result.reason) == (False, "InvalidSpec")
    assert "promptTemplate: Compact" in result.message


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("hf:Qwen/Qwen3-30B-A3B", "ModelUnsupported"),
        ("s3://bucket/model", "ModelUnsupported"),
        ("ftp://host/model", "ModelUnsupported"),
        ("package:none", "ModelNotFound"),
        ("package:../store", "ModelNotFound"),
        ("file:///nowhere/model", "ModelNotFound"),
    ],
)
def test_a_model_that_cannot_be_had_is_refused(tmp_path: Path, corpus: Path, uri: str, reason: str) -> None:
    result = prepare(task(tmp_path, uri, settings(corpus)))
    assert (result.accepted, result.reason) == (False, reason)
    assert result.message.startswith("spec.model.uri")


@pytest.mark.parametrize(
    ("uri", "content", "reason"),
    [(None, None, "CorpusNotFound"), (None, "not json\n", "CorpusInvalid"), ("s3://bucket/c", "", "CorpusInvalid")],
)
def test_a_corpus_that_cannot_be_read_is_refused(
    tmp_path: Path, model: Path, uri: str | None, content: str | None, reason: str
) -> None:
    path = tmp_path / "other.jsonl"
    if content is not None:
        path.write_text(content)
    method = settings(path, **({"environments": {"corpus": {"uri": uri}}} if uri else {}))
    result = prepare(task(tmp_path, model, method))
    assert (result.accepted, result.reason) == (False, reason)


def test_an_unknown_skill_is_refused_with_the_known_ones(tmp_path: Path, model: Path, corpus: Path) -> None:
    method = settings(corpus, environments={"skills": ("Juggling",), "active_skills": 1})
    result = prepare(task(tmp_path, model, method))
    assert (result.accepted, result.reason) == (False, "InvalidSpec")
    assert "Juggling" in result.message
    assert "Optimization" in result.message


def test_what_is_left_out_of_the_corpus_is_told_and_its_index_is_kept(tmp_path: Path, model: Path) -> None:
    corpus = tmp_path / "mixed.jsonl"
    corpus.write_text('{"text": "One."}\nnonsense\n{"text": "one"}\n{"text": ""}\n{"text": "Two."}\n')
    once = prepare(task(tmp_path, model, settings(corpus)))
    assert (once.corpus_documents, once.corpus_left_out) == (2, {"duplicate": 1, "unreadable": 1, "without_text": 1})
    assert prepare(task(tmp_path, model, settings(corpus))) == once
    corpus.write_text('{"text": "Three."}\n')
    changed = prepare(task(tmp_path, model, settings(corpus)))
    assert (changed.accepted, changed.reason) == (False, "CorpusInvalid")
    assert "prepared with" in changed.message


def test_a_run_without_a_corpus_is_prepared(tmp_path: Path, model: Path, corpus: Path) -> None:
    result = prepare(task(tmp_path, model, settings(corpus, environments={"corpus": {"uri": ""}})))
    assert (result.accepted, result.corpus_documents) == (True, 0)


def test_a_pool_must_be_the_one_that_the_run_names(tmp_path: Path, model: Path, corpus: Path) -> None:
    pool = tmp_path / "pool.jsonl"
    pool.write_text('{"program": "class AEnv: ..."}\n')

    def prepared(uri: str, digest: str) -> PrepareResult:
        designer = {"source": "Pool", "pool": {"uri": uri, "sha256": digest}}
        return prepare(task(tmp_path, model, settings(corpus, environments={"designer": designer})))

    digest = hashlib.sha256(pool.read_bytes()).hexdigest()
    missing = prepared((tmp_path / "none.jsonl").as_uri(), digest)
    assert (missing.accepted, missing.reason) == (False, "PoolNotFound")
    other = prepared(pool.as_uri(), "0" * 64)
    assert (other.accepted, other.reason) == (False, "PoolChanged")
    assert digest in other.message
    assert prepared(pool.as_uri(), digest).accepted


def test_storage_that_cannot_be_written_is_refused(tmp_path: Path, model: Path, corpus: Path) -> None:
    (tmp_path / "file").write_text("")
    for storage in ((tmp_path / "file").as_uri(), "s3://bucket/run"):
        result = prepare(task(tmp_path, model, settings(corpus), storage=storage))
        assert (result.accepted, result.reason) == (False, "StorageUnavailable")


def test_preparation_needs_no_torch(tmp_path: Path, model: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "transformers", "vllm", "megatron"):
        monkeypatch.setitem(sys.modules, name, None)
    assert prepare(task(tmp_path, model, settings(corpus))).accepted
