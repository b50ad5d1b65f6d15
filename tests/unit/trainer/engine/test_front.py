"""The front serves what is proven, refuses with typed errors, and touches weights only behind a closed gate."""

import asyncio
from typing import Any

import pytest
from tests.unit.trainer.engine.conftest import CONTROL_TOKEN, DATA_TOKEN, SHA256, STOP, Front, post

from spade_contracts.engine_api import EngineErrorBody
from spade_contracts.statuses import EngineState, EngineStatus


async def test_generation_hands_on_tokens_log_probabilities_spans_and_boot(front: Front) -> None:
    status, answer = await front.generate()
    assert status == 200
    assert answer == {
        "token_ids": [11, 12, STOP],
        "log_probs": [-0.5, -0.5, -0.5],
        "finish_reason": "stop",
        "spans": [{"policy_version": 0, "tokens": 3}],
        "boot_id": "boot-1",
    }


async def test_vllm_is_asked_for_processed_sampling_by_one_stop_rule(front: Front) -> None:
    await front.generate(seed=2**63 + 9, max_new_tokens=500)
    assert front.vllm.bodies[-1] == {
        "token_ids": [1, 2],
        "sampling_params": {
            "temperature": 0.6,
            "top_p": 1.0,
            "top_k": -1,
            "seed": 9,
            "max_tokens": 14,
            "stop_token_ids": [STOP],
            "ignore_eos": True,
            "logprobs": 0,
            "detokenize": False,
        },
    }


async def test_tokens_of_two_versions_come_in_two_spans(front: Front) -> None:
    front.vllm.spans = [{"version": "0", "start": 0, "end": 1}, {"version": "1", "start": 1, "end": 3}]
    _, answer = await front.generate()
    assert [(span["policy_version"], span["tokens"]) for span in answer["spans"]] == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"policy_version": 4}, 409, "wrong_policy"),
        ({"token_ids": [1] * 16}, 413, "too_long"),
        ({"token_ids": [100]}, 400, "bad_request"),
        ({"token_ids": []}, 400, "bad_request"),
        ({"temperature": -1}, 400, "bad_request"),
        ({"top_p": 0}, 400, "bad_request"),
        ({"top_k": -2}, 400, "bad_request"),
        ({"seed": -1}, 400, "bad_request"),
        ({"log_prob_temperature": 1.0}, 400, "bad_request"),
        ({"unknown": 1}, 400, "bad_request"),
    ],
)
async def test_a_bad_request_is_refused_before_vllm_sees_it(
    front: Front, changes: dict[str, Any], status: int, error: str
) -> None:
    answered, body = await front.generate(**changes)
    assert (answered, EngineErrorBody.model_validate(body).error) == (status, error)
    assert "/inference/v1/generate" not in front.vllm.calls


async def test_a_body_that_is_too_large_is_refused(front: Front) -> None:
    status, body = await front.generate(token_ids=[1] * 2_000_000)
    assert (status, body["error"]) == (413, "too_long")


@pytest.mark.parametrize("header", [None, "Bearer control", "Bearer", "Basic data", "Bearer \xff", "data"])
async def test_a_wrong_token_opens_nothing(front: Front, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    for path in ("/generate", "/no-such-path"):
        async with front.data.post(path, json={}, headers=headers) as answer:
            assert answer.status == 401
            assert EngineErrorBody.model_validate_json(await answer.text()).error == "unauthorized"


async def test_the_workers_token_does_not_open_the_control_port(front: Front) -> None:
    status, _ = await post(front.control, "/canary", {"factor": 2}, DATA_TOKEN)
    assert status == 401
    assert front.vllm.calls == []


async def test_nothing_is_served_before_vllm_answers_and_its_policy_is_proven(starting: Front) -> None:
    assert (await starting.generate())[1]["error"] == "not_serving"
    assert (await starting.load(1))[1]["error"] == "not_serving"
    await starting.engine.booted(0)
    assert (await starting.generate())[1]["error"] == "not_serving"
    assert (await starting.open.get("/ready")).status == 503
    await starting.admit(0)
    assert (await starting.open.get("/ready")).status == 200
    assert (await starting.generate())[0] == 200


async def test_a_load_pauses_loads_labels_forgets_and_resumes_in_this_order(front: Front) -> None:
    status, report = await front.load(1)
    assert (status, report["tensors_sha256"], report["tensors"], report["policy_version"]) == (200, SHA256, 3, 1)
    assert front.vllm.calls == [
        "/pause",
        "/collective_rpc",
        "/update_weight_version",
        "/reset_prefix_cache",
        "/resume",
    ]
    seen = front.engine.status()
    assert (seen.state, seen.loaded_policy_version, seen.verified_policy_version) == (EngineState.UNVERIFIED, 1, None)
    assert (await front.generate(policy_version=1))[1]["error"] == "not_serving"
    await front.admit(1)
    assert (await front.generate(policy_version=1))[0] == 200


@pytest.mark.parametrize(
    "path", ["/pause", "/collective_rpc", "/update_weight_version", "/reset_prefix_cache", "/resume"]
)
async def test_a_load_that_fails_anywhere_serves_nothing_until_another_succeeds(front: Front, path: str) -> None:
    front.vllm.broken.add(path)
    status, body = await front.load(1)
    assert (status, body["error"]) == (502, "failed")
    assert front.engine.status().state is EngineState.FAILED
    assert path in front.engine.status().error
    assert (await front.generate())[1]["error"] == "failed"
    assert (await front.admit(1))[1]["error"] == "failed"
    front.vllm.broken.clear()
    assert (await front.load(0))[0] == 200
    await front.admit(0)
    assert (await front.generate())[0] == 200


async def test_a_cache_that_is_still_held_fails_the_load(front: Front) -> None:
    front.vllm.cache_is_free = False
    assert (await front.load(1))[0] == 502
    assert front.engine.status().state is EngineState.FAILED


async def test_tensors_that_are_not_the_manifests_are_reported_truly_and_never_admitted(front: Front) -> None:
    front.vllm.sha256 = "cd" * 32
    status, report = await front.load(1)
    assert (status, report["tensors_sha256"]) == (200, "cd" * 32)
    assert "policy.json" in front.engine.status().error
    assert (await front.admit(1))[1]["error"] == "bad_request"
    assert (await front.generate(policy_version=1))[1]["error"] == "not_serving"
    front.vllm.sha256 = SHA256
    await front.load(1)
    assert (await front.admit(1))[0] == 200
    assert front.engine.status().error == ""


@pytest.mark.parametrize("version", [2, 10_000])
async def test_an_unfinished_policy_is_refused_and_the_engine_serves_on(front: Front, version: int) -> None:
    assert (await front.load(version))[1]["error"] == "bad_request"
    assert (await front.generate())[0] == 200


@pytest.mark.parametrize(
    "uri", ["file:///etc", "/policies/0001", "s3://bucket/policies/0001", "file://{root}/policies/0000"]
)
async def test_a_folder_that_is_not_the_policys_is_refused(front: Front, uri: str) -> None:
    body = {"policy_version": 1, "uri": uri.format(root=front.store.root)}
    status, answer = await post(front.control, "/load", body, CONTROL_TOKEN)
    assert (status, answer["error"]) == (400, "bad_request")
    assert front.vllm.calls == []


async def test_requests_under_way_end_before_the_weights_change(front: Front) -> None:
    front.vllm.release.clear()
    request = asyncio.create_task(front.generate())
    await front.vllm.waiting.wait()
    load = asyncio.create_task(front.load(1))
    await front.updating.wait()
    assert (await front.generate())[1]["error"] == "updating"
    front.vllm.release.set()
    assert (await request)[0] == 200
    assert (await load)[0] == 200
    assert front.vllm.calls.index("/inference/v1/generate") < front.vllm.calls.index("/pause")


async def test_requests_that_outlast_the_drain_are_aborted_and_told_to_ask_again(front: Front) -> None:
    front.vllm.release.clear()
    request = asyncio.create_task(front.generate())
    await front.vllm.waiting.wait()
    assert (await front.load(1))[0] == 200
    assert (await request)[1]["error"] == "updating"


async def test_a_worker_that_hangs_up_ends_its_generation(front: Front) -> None:
    front.vllm.release.clear()
    request = asyncio.create_task(front.generate())
    await front.vllm.waiting.wait()
    request.cancel()
    await asyncio.wait_for(front.vllm.hung_up.wait(), timeout=5)
    assert (await front.load(1))[0] == 200
    assert front.engine.status().requests_in_flight == 0


async def test_a_log_probability_that_is_no_number_is_a_failure_and_no_answer(front: Front) -> None:
    front.vllm.log_prob = -9999.0
    assert (await front.generate())[1]["error"] == "failed"


async def test_a_vllm_that_answers_with_an_error_is_a_failure(front: Front) -> None:
    front.vllm.broken.add("/inference/v1/generate")
    assert (await front.generate())[1]["error"] == "failed"


async def test_scores_follow_the_tokens_and_need_no_proof(front: Front) -> None:
    await front.load(1)
    status, answer = await post(front.control, "/score", {"token_ids": [5, 10, 20]}, CONTROL_TOKEN)
    assert status == 200
    assert answer == {"boot_id": "boot-1", "loaded_policy_version": 1, "log_probs": [-0.1, -0.2]}
    assert front.vllm.bodies[-1]["sampling_params"]["prompt_logprobs"] == 0


async def test_the_canary_closes_the_gate_until_it_is_restored_and_the_policy_proven_again(front: Front) -> None:
    status, report = await post(front.control, "/canary", {"factor": 1.5}, CONTROL_TOKEN)
    assert (status, report["tensor"], report["sum"]) == (200, "model.norm.weight", 96.0)
    assert (await front.generate())[1]["error"] == "not_serving"
    assert (await front.admit(0))[1]["error"] == "bad_request"
    await post(front.control, "/canary", {"factor": 1.0}, CONTROL_TOKEN)
    assert (await front.admit(0))[0] == 200
    assert (await front.generate())[0] == 200


@pytest.mark.parametrize(
    ("changes", "error"),
    [({"boot_id": "boot-0"}, "bad_request"), ({"policy_version": 0}, "wrong_policy")],
)
async def test_a_verdict_about_something_else_admits_nothing(front: Front, changes: dict[str, Any], error: str) -> None:
    await front.load(1)
    assert (await front.admit(1, **changes))[1]["error"] == error
    assert front.engine.status().verified_policy_version is None


async def test_a_first_verdict_without_a_passed_canary_admits_nothing(starting: Front) -> None:
    await starting.engine.booted(0)
    assert (await starting.admit(0, canary_passed=False))[1]["error"] == "bad_request"
    assert (await starting.admit(0))[0] == 200
    await starting.load(1)
    assert (await starting.admit(1, canary_passed=False))[0] == 200


async def test_status_and_metrics_are_open_and_tell_what_is_proven(front: Front) -> None:
    await front.generate()
    await front.generate(policy_version=9)
    seen = EngineStatus.model_validate_json(await (await front.open.get("/status")).text())
    assert (seen.boot_id, seen.verified_policy_version, seen.generated_tokens) == ("boot-1", 0, 3)
    text = await (await front.open.get("/metrics")).text()
    assert "spade_engine_policy_version 0.0" in text
    assert 'spade_engine_requests_total{result="ok"} 1.0' in text
    assert 'spade_engine_requests_total{result="wrong_policy"} 1.0' in text
    assert 'spade_engine_requests_total{result="too_long"} 0.0' in text
    assert "spade_engine_generated_tokens_total 3.0" in text
    assert "vllm:num_requests_running" in text
    assert "python_info" not in text


async def test_metrics_are_served_while_vllm_is_silent(front: Front) -> None:
    front.vllm.broken.add("/metrics")
    answer = await front.open.get("/metrics")
    assert answer.status == 200
    assert "spade_engine_policy_version" in await answer.text()


async def test_an_engine_that_is_ending_is_not_ready(front: Front) -> None:
    front.engine.close("the engine is ending")
    assert (await front.open.get("/ready")).status == 503
    assert (await front.open.get("/healthz")).status == 200
