"""A real vLLM behind our front computes with what it was handed, says so truthfully, and serves nothing unproven."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.component.engine.conftest import (
    CHANGED_EXPERT,
    CONTEXT,
    CONTROL_TOKEN,
    DATA_TOKEN,
    END,
    PROBE,
    VOCABULARY,
    RunningEngine,
    call,
)
from transformers import AutoModelForCausalLM

from spade_contracts.engine_api import GenerateResponse
from spade_contracts.statuses import EngineState
from spade_trainer.store import layout, manifests, policies

PROMPT = [17, 201, 44, 130, 9, 77, 300, 21, 8]
TEMPERATURE = 0.6
NOISE = 0.05
"""Mean difference of bf16 log-probabilities between two implementations; policies here are ten times farther apart."""


def request(**changes: Any) -> dict[str, Any]:
    return {
        "token_ids": PROMPT,
        "temperature": TEMPERATURE,
        "max_new_tokens": 48,
        "seed": 1,
        "policy_version": 0,
        **changes,
    }


def drawn(engine: RunningEngine, **changes: Any) -> GenerateResponse:
    status, answer = engine.generate(request(**changes))
    assert status == 200, answer
    return GenerateResponse.model_validate(answer)


def expected(engine: RunningEngine, version: int, token_ids: list[int], temperature: float = 1.0) -> torch.Tensor:
    """Log-probabilities of all tokens but the first, by transformers from the same files."""
    model = AutoModelForCausalLM.from_pretrained(engine.folder(version), dtype=torch.float32).eval()
    with torch.no_grad():
        logits = model(torch.tensor([token_ids])).logits[0, :-1] / temperature
    return torch.log_softmax(logits, -1).gather(-1, torch.tensor(token_ids[1:])[:, None])[:, 0]


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().mean())


def test_an_identity_reload_changes_no_log_probability(engine: RunningEngine) -> None:
    assert engine.boot_scores is not None
    engine.load(1)
    assert torch.equal(engine.score(PROBE), engine.boot_scores)


def test_a_changed_expert_arrives_and_the_old_one_comes_back(engine: RunningEngine) -> None:
    old, new = expected(engine, 0, PROBE), expected(engine, 2, PROBE)
    assert distance(old, new) > 5 * NOISE
    before = engine.score(PROBE)
    engine.load(2)
    assert distance(engine.score(PROBE), new) < NOISE
    engine.load(0)
    assert torch.equal(engine.score(PROBE), before)


def test_a_sleep_changes_no_log_probability_and_takes_the_proof(engine: RunningEngine) -> None:
    before = engine.score(PROBE)
    report = engine.control("/sleep", {})
    assert (report["asleep"], report["frees_memory"]) == (True, False), "vLLM's CPU build moves nothing"
    assert engine.status().state is EngineState.ASLEEP
    assert engine.generate(request())[1]["error"] == "asleep"
    assert engine.control("/wake", {})["asleep"] is False
    assert engine.generate(request())[1]["error"] == "not_serving"
    assert torch.equal(engine.score(PROBE), before)
    engine.load(2)
    assert distance(engine.score(PROBE), expected(engine, 2, PROBE)) < NOISE


def test_scores_are_those_of_transformers(engine: RunningEngine) -> None:
    assert distance(engine.score(PROBE), expected(engine, 0, PROBE)) < NOISE


def test_a_load_reports_the_digest_of_the_policy_manifest(engine: RunningEngine) -> None:
    report = engine.load(2)
    manifest = manifests.read_policy(engine.store, 2)
    assert (report["tensors_sha256"], report["tensors"]) == (manifest.tensors_sha256, manifest.tensors)


def test_log_probabilities_are_those_of_the_sampling_temperature(engine: RunningEngine) -> None:
    answer = drawn(engine)
    found = torch.tensor(answer.log_probs)
    whole = [*PROMPT, *answer.token_ids]
    at_temperature = expected(engine, 0, whole, TEMPERATURE)[-len(found) :]
    at_one = expected(engine, 0, whole)[-len(found) :]
    assert distance(found, at_temperature) < NOISE < distance(found, at_one)


def test_the_same_seed_draws_the_same_tokens_and_another_one_others(engine: RunningEngine) -> None:
    first, again, other = (drawn(engine, seed=seed) for seed in (5, 5, 6))
    assert first.token_ids == again.token_ids != other.token_ids
    assert first.log_probs == pytest.approx(again.log_probs, abs=NOISE)


def test_a_generation_ends_with_its_stop_token_or_with_its_length(engine: RunningEngine) -> None:
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda seed: drawn(engine, temperature=2.0, seed=seed, max_new_tokens=200), range(32)))
    stopped = [answer for answer in answers if answer.finish_reason == "stop"]
    assert stopped
    assert all(answer.token_ids[-1] == END and END not in answer.token_ids[:-1] for answer in stopped)
    assert all(END not in answer.token_ids for answer in answers if answer.finish_reason == "length")


def test_a_generation_that_fills_the_context_ends_with_length(engine: RunningEngine) -> None:
    prompt = [5] * (CONTEXT - 4)
    answer = drawn(engine, token_ids=prompt, max_new_tokens=100, temperature=0.0)
    assert len(answer.token_ids) <= 4


def test_every_token_is_in_a_span_of_the_proven_version(engine: RunningEngine) -> None:
    engine.load(2)
    engine.admit(2)
    answer = drawn(engine, policy_version=2)
    assert [(span.policy_version, span.tokens) for span in answer.spans] == [(2, len(answer.token_ids))]
    assert answer.boot_id == engine.status().boot_id


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"policy_version": 1}, 409, "wrong_policy"),
        ({"token_ids": [5] * CONTEXT}, 413, "too_long"),
        ({"token_ids": [VOCABULARY]}, 400, "bad_request"),
        ({"token_ids": [-1]}, 400, "bad_request"),
        ({"temperature": float("nan")}, 400, "bad_request"),
        ({"seed": 2**64}, 400, "bad_request"),
    ],
)
def test_a_refused_request_leaves_the_engine_serving(
    engine: RunningEngine, changes: dict[str, Any], status: int, error: str
) -> None:
    answered, body = engine.generate(request(**changes))
    assert (answered, body["error"]) == (status, error)
    assert drawn(engine).token_ids


def test_each_port_wants_its_own_token(engine: RunningEngine) -> None:
    assert engine.generate(request(), token=CONTROL_TOKEN)[0] == 401
    assert call("POST", engine.control_port, "/score", {"token_ids": PROBE}, DATA_TOKEN)[0] == 401
    assert call("POST", engine.control_port, "/score", {"token_ids": PROBE})[0] == 401


def test_nothing_of_vllm_is_reachable(engine: RunningEngine) -> None:
    for port, token in ((engine.data_port, DATA_TOKEN), (engine.control_port, CONTROL_TOKEN), (engine.status_port, "")):
        for path in ("/collective_rpc", "/pause", "/v1/completions", "/inference/v1/generate"):
            assert call("POST", port, path, {}, token)[0] == 404


def test_a_loaded_policy_serves_only_after_its_proof_at_this_boot(engine: RunningEngine) -> None:
    engine.load(2)
    assert engine.generate(request(policy_version=2))[1]["error"] == "not_serving"
    assert engine.get("/ready")[0] == 503
    boot = engine.status().boot_id
    for verdict in (
        {"boot_id": "another", "policy_version": 2, "canary_passed": True},
        {"boot_id": boot, "policy_version": 0, "canary_passed": True},
    ):
        assert call("POST", engine.control_port, "/admit", verdict, CONTROL_TOKEN)[0] in (400, 409)
    assert engine.status().verified_policy_version is None
    engine.admit(2)
    assert engine.get("/ready")[0] == 200
    assert drawn(engine, policy_version=2).token_ids


def test_the_canary_moves_the_scores_and_restores_them_bit_for_bit(engine: RunningEngine) -> None:
    before = engine.score(PROBE)
    moved = engine.control("/canary", {"factor": 1.5})
    assert engine.generate(request())[1]["error"] == "not_serving"
    assert distance(engine.score(PROBE), before) > 5 * NOISE
    restored = engine.control("/canary", {"factor": 1.0})
    assert moved["sum"] == pytest.approx(1.5 * restored["sum"], rel=0.01)
    assert torch.equal(engine.score(PROBE), before)


def test_a_policy_with_other_tensors_is_refused_and_nothing_is_served(engine: RunningEngine) -> None:
    folder = engine.folder(0).parent / "0007"
    if not folder.exists():
        folder.mkdir()
        tensors = load_file(engine.folder(0) / "model.safetensors")
        del tensors[CHANGED_EXPERT]
        save_file(tensors, folder / "model.safetensors")
        policies.finish(engine.store, 7)
    body = {"policy_version": 7, "uri": engine.uri(7)}
    status, text = call("POST", engine.control_port, "/load", body, CONTROL_TOKEN)
    assert status == 502
    assert CHANGED_EXPERT in text
    assert engine.status().state is EngineState.FAILED
    assert engine.generate(request())[1]["error"] == "failed"
    engine.load(0)
    engine.admit(0)
    assert drawn(engine).token_ids


def test_files_that_are_not_those_of_the_manifest_are_never_served(engine: RunningEngine) -> None:
    folder = engine.folder(0).parent / "0008"
    if not folder.exists():
        folder.mkdir()
        tensors = load_file(engine.folder(0) / "model.safetensors")
        save_file(tensors, folder / "model.safetensors")
        policies.finish(engine.store, 8)
    tensors = load_file(engine.folder(0) / "model.safetensors")
    tensors[CHANGED_EXPERT] = tensors[CHANGED_EXPERT] * 2
    save_file(tensors, folder / "model.safetensors")
    assert engine.load(8)["tensors_sha256"] != manifests.read_policy(engine.store, 8).tensors_sha256
    verdict = {"boot_id": engine.status().boot_id, "policy_version": 8, "canary_passed": True}
    assert call("POST", engine.control_port, "/admit", verdict, CONTROL_TOKEN)[0] == 400
    assert engine.status().state is EngineState.UNVERIFIED


def test_a_folder_outside_of_the_run_is_not_loaded(engine: RunningEngine) -> None:
    body = {"policy_version": 0, "uri": "file:///etc"}
    assert call("POST", engine.control_port, "/load", body, CONTROL_TOKEN)[0] == 400
    assert engine.status().state is EngineState.SERVING
    assert layout.policy_folder(0) in engine.uri(0)


def test_more_requests_than_vllm_computes_at_once_all_end(engine: RunningEngine) -> None:
    with ThreadPoolExecutor(128) as pool:
        answers = list(pool.map(lambda seed: drawn(engine, seed=seed, max_new_tokens=12), range(128)))
    assert len(answers) == 128
    assert len({answer.token_ids for answer in answers}) > 100
    assert engine.status().requests_in_flight == 0


def test_prompts_that_do_not_fit_into_one_batch_together_are_all_answered(engine: RunningEngine) -> None:
    prompts = [[(31 * i + seed) % VOCABULARY for i in range(CONTEXT - 80)] for seed in range(24)]
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda prompt: drawn(engine, token_ids=prompt), prompts))
    assert all(answer.token_ids for answer in answers)


def test_requests_under_way_end_before_new_weights_come(engine: RunningEngine) -> None:
    with ThreadPoolExecutor(16) as pool:
        running = [pool.submit(engine.generate, request(seed=seed, max_new_tokens=200)) for seed in range(16)]
        engine.load(2)
        answers = [future.result() for future in running]
    for status, answer in answers:
        if status == 200:
            assert {span["policy_version"] for span in answer["spans"]} == {0}
        else:
            assert answer["error"] in ("updating", "not_serving")


def test_metrics_show_the_proven_version_and_a_choice_of_vllms(engine: RunningEngine) -> None:
    drawn(engine)
    text = engine.get("/metrics")[1]
    assert "spade_engine_policy_version 0.0" in text
    assert 'spade_engine_requests_total{result="ok"}' in text
    assert "vllm:generation_tokens_total{" in text
    assert "python_info" not in text
