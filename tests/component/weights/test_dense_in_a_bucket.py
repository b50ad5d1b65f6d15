"""A dense model with tied embeddings, in a bucket: trained there, and served from there by a real engine."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from tests.component.engine.conftest import (
    CONTROL_TOKEN,
    END,
    RunningEngine,
    start_engine,
    stop_engine,
    wait_for_boot,
)
from tests.component.learner.process import start_learner
from tests.component.learner.ranks import on_ranks
from tests.component.learner.runs import in_bucket, make_run, settings
from tests.component.learner.tiny import VOCABULARY, save_random_dense_model
from tests.support.s3 import s3_service

from spade_contracts.engine_api import GenerateResponse
from spade_contracts.statuses import EngineState, LearnerStatus, ProofResult
from spade_trainer.store import layout
from spade_trainer.store.manifests import read_policy
from spade_trainer.store.tensors import digest_files

VERSION = 1
SMALL = {"max-num-seqs": "4", "max-model-len": "256", "max-num-batched-tokens": "256"}
"""vLLM tries its largest batch at start, so a small one starts sooner."""
PROBE = tuple((37 * i * i + 11 * i + 5) % VOCABULARY for i in range(96))
NOISE = 0.02
"""Mean difference of bf16 log-probabilities between vLLM and Megatron, which other policies exceed by far."""


@dataclass(frozen=True)
class Served:
    """An engine that serves the version, and what the learner said of it."""

    engine: RunningEngine
    status: LearnerStatus
    copies: Path
    """Where the engine's pod keeps what it read."""


def proven(now: LearnerStatus) -> bool:
    """Whether there is a proof of the version."""
    return any(proof.policy_version == VERSION for proof in now.proofs)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("bucket")
    save_random_dense_model(folder / "model", tied=True)
    (folder / "model" / "generation_config.json").write_text(json.dumps({"eos_token_id": [END]}))
    config = settings(1, 1, optimizer={"learning_rate": 4e-3})
    make_run(folder / "run", config, rollouts=VERSION, model=folder / "model")
    with s3_service(folder / "learner-staging") as service:
        store, copies = in_bucket(folder / "run", service), folder / "engine-staging"
        own = service.environment | {"SPADE_STAGING": str(copies)}
        engine = start_engine(folder / "engine", store, SMALL, variables=own)
        try:
            ports = (engine.control_port, engine.status_port)
            learner = start_learner(folder / "learner", store, ranks=1, engine_ports=ports, engine_token=CONTROL_TOKEN)
            try:
                learner.until(lambda _: True, seconds=300)
                wait_for_boot(engine)
                assert learner.put_target(VERSION, {"e0": "127.0.0.1"}) == 200
                status = learner.until(proven, seconds=300)
                yield Served(engine, status, copies)
            finally:
                learner.stop()
        finally:
            stop_engine(engine)


def test_the_engine_is_proven_at_the_trained_version_and_answers_workers(served: Served) -> None:
    (proof,) = served.status.proofs
    assert proof.result is ProofResult.VERIFIED, proof.detail
    status = served.engine.status()
    assert (status.state, status.verified_policy_version) == (EngineState.SERVING, VERSION)
    asked = {"token_ids": [1, 2, 3], "temperature": 1.0, "max_new_tokens": 8, "seed": 1, "policy_version": VERSION}
    code, answer = served.engine.generate(asked)
    assert code == 200, answer
    spans = GenerateResponse.model_validate(answer).spans
    assert {span.policy_version for span in spans} == {VERSION}


def test_what_it_read_has_the_checksum_of_the_manifest_in_the_bucket(served: Served) -> None:
    manifest = read_policy(served.engine.store, VERSION)
    (copy,) = served.copies.glob(f"*/{layout.policy_folder(VERSION)}")
    assert digest_files(copy.glob("*.safetensors")).sha256 == manifest.tensors_sha256
    report = served.engine.load(VERSION)
    assert (report["tensors_sha256"], report["tensors"]) == (manifest.tensors_sha256, manifest.tensors)
    served.engine.admit(VERSION)


def test_a_head_that_is_the_embeddings_scores_as_in_the_learner(served: Served) -> None:
    engine = served.engine
    folders = {version: engine.folder(version) for version in (0, VERSION)}
    with safe_open(folders[VERSION] / "model.safetensors", "pt") as exported:
        assert "lm_head.weight" not in set(exported.keys())
    ours, before = (torch.tensor(on_ranks(1, "scores", str(folders[each]), PROBE)[0]) for each in (VERSION, 0))
    theirs = engine.score(list(PROBE))
    assert float((ours - theirs).abs().mean()) < NOISE
    assert float((before - theirs).abs().mean()) > 5 * NOISE
