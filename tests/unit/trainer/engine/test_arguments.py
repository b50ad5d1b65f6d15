"""A run may tune vLLM, and may not open ports, load code or change what numbers mean."""

from pathlib import Path

import pytest

from spade_contracts.errors import InvalidInput
from spade_contracts.resources.run_parts import ENGINE_ARGS
from spade_trainer.engine.arguments import max_model_tokens, vllm_arguments, vllm_environment
from spade_trainer.engine.model_facts import ModelFacts

FACTS = ModelFacts("Qwen3MoeForCausalLM", 100, 4096, (7,))


def words(extra: dict[str, str], *, cpu: bool = True) -> list[str]:
    return list(vllm_arguments(FACTS, Path("/policies/0000"), Path("/scratch/vllm.sock"), extra, cpu=cpu))


@pytest.mark.parametrize(
    "name",
    [
        "host", "port", "uds", "model", "served-model-name", "logprobs-mode", "worker-extension-cls", "worker-cls",
        "middleware", "trust-remote-code", "load-format", "quantization", "enable-lora", "generation-config", "config",
        "distributed-executor-backend", "logits-processors", "api-key", "hf-overrides", "hos", "--port",
    ],
)  # fmt: skip
def test_an_argument_outside_of_the_list_is_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        words({name: "x"})


def test_only_an_engine_beside_a_learner_with_a_gpu_is_started_so_that_it_can_sleep() -> None:
    def sleeps(*, cpu: bool, colocated: bool) -> bool:
        found = vllm_arguments(FACTS, Path("/p"), Path("/s"), {}, cpu=cpu, sleeps=colocated)
        return "--enable-sleep-mode" in found

    assert sleeps(cpu=False, colocated=True)
    assert not sleeps(cpu=True, colocated=True), "the CPU build refuses to start with it"
    assert not sleeps(cpu=False, colocated=False)


def test_what_an_engine_promises_is_not_on_the_list() -> None:
    fixed = {word.removeprefix("--").partition("=")[0] for word in words({}) if word.startswith("--")}
    tunable = {
        "max-model-len",
        "max-num-seqs",
        "max-num-batched-tokens",
        "dtype",
        "enforce-eager",
        "kv-cache-memory-bytes",
    }
    assert not (fixed - tunable) & set(ENGINE_ARGS)


def test_a_runs_value_replaces_the_default() -> None:
    assert "--max-num-seqs=128" in words({})
    assert [word for word in words({"max-num-seqs": "64"}) if "max-num-seqs" in word] == ["--max-num-seqs=64"]


@pytest.mark.parametrize(
    ("value", "word"), [("", "--enforce-eager"), ("true", "--enforce-eager"), ("false", "--no-enforce-eager")]
)
def test_flags_are_words_without_a_value(value: str, word: str) -> None:
    assert word in words({"enforce-eager": value})


def test_vllm_listens_on_its_socket_only() -> None:
    assert "--uds=/scratch/vllm.sock" in words({})
    assert not [word for word in words({}) if word.startswith(("--host", "--port"))]


def test_one_rank_on_cpu_computes_in_one_process() -> None:
    assert "--distributed-executor-backend=uni" in words({})
    assert not [word for word in words({"tensor-parallel-size": "2"}) if "executor" in word]
    assert not [word for word in words({}, cpu=False) if "executor" in word or "eager" in word]


def test_on_cpu_every_prompt_fits_into_one_batch_and_is_computed_at_once() -> None:
    long = ModelFacts("Qwen3MoeForCausalLM", 100, 40_000, (7,))
    given = vllm_arguments(long, Path("/p"), Path("/s"), {}, cpu=True)
    assert "--no-enable-chunked-prefill" in given
    batch = next(int(word.partition("=")[2]) for word in given if word.startswith("--max-num-batched-tokens="))
    assert batch > 40_000


def test_context_is_the_models_unless_the_run_shortens_it() -> None:
    assert max_model_tokens(FACTS, {}) == 4096
    assert max_model_tokens(FACTS, {"max-model-len": "512"}) == 512


@pytest.mark.parametrize("value", ["", "many", "1", "4097", "-5", "1k"])
def test_a_context_that_the_model_does_not_have_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match="max-model-len"):
        max_model_tokens(FACTS, {"max-model-len": value})


def test_folders_default_to_the_scratch_folder_and_threads_to_the_cores() -> None:
    environment = vllm_environment({"PATH": "/bin"}, Path("/scratch"), cpu=True, threads=3)
    assert environment["HOME"] == environment["TMPDIR"] == "/scratch"
    assert environment["VLLM_CACHE_ROOT"].startswith("/scratch/")
    assert environment["OMP_NUM_THREADS"] == "3"


def test_the_pods_own_settings_win_over_defaults_but_not_over_promises() -> None:
    base = {"HOME": "/home/engine", "OMP_NUM_THREADS": "1", "VLLM_SERVER_DEV_MODE": "0", "HF_HUB_OFFLINE": "0"}
    environment = vllm_environment(base, Path("/scratch"), cpu=True, threads=3)
    assert (environment["HOME"], environment["OMP_NUM_THREADS"]) == ("/home/engine", "1")
    assert (environment["VLLM_SERVER_DEV_MODE"], environment["HF_HUB_OFFLINE"]) == ("1", "1")


def test_nothing_is_compiled_on_cpu() -> None:
    assert vllm_environment({}, Path("/scratch"), cpu=True, threads=1)["TORCHDYNAMO_DISABLE"] == "1"
    assert "TORCHDYNAMO_DISABLE" not in vllm_environment({}, Path("/scratch"), cpu=False, threads=1)
