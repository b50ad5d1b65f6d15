"""One real engine for all tests of this folder, on a run storage with a few small random policies.

v0: random; v1: v0's bytes again; v2: v0 with another expert. Random weights are wide, so that policies are far apart.
"""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.support.ports import free_ports
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

from spade_contracts.statuses import EngineState, EngineStatus
from spade_contracts.tasks import EngineTask, RunRef
from spade_contracts.tokens import Door, token_digest
from spade_trainer.store import layout, policies
from spade_trainer.store.objects import Store, open_store

DATA_TOKEN = "data-token"
CONTROL_TOKEN = "control-token"
VOCABULARY = 512
CONTEXT = 256
END = 3
"""The stop token."""
START_SECONDS = 600.0
CHANGED_EXPERT = "model.layers.1.mlp.experts.2.down_proj.weight"
POLICY_VERSIONS = (0, 1, 2)
PROBE = [(37 * i * i + 11 * i + 5) % VOCABULARY for i in range(96)]
"""Tokens whose log-probabilities tell policies apart."""


@dataclass(frozen=True)
class RunningEngine:
    """A `spade-engine` process and where it listens."""

    process: subprocess.Popen[bytes]
    store: Store
    scratch: Path
    data_port: int
    control_port: int
    status_port: int
    boot_scores: torch.Tensor | None = None
    """Scores of PROBE by vLLM's own first load of policy 0."""

    def folder(self, version: int) -> Path:
        """A policy's files."""
        return policies.policy_files(self.store, version)

    def uri(self, version: int) -> str:
        """A policy's folder as the learner names it."""
        return f"{self.store.uri}/{layout.policy_folder(version)}"

    def get(self, path: str) -> tuple[int, str]:
        """From the open port: status and text."""
        return call("GET", self.status_port, path)

    def control(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """An operation of the learner that must succeed."""
        status, text = call("POST", self.control_port, path, body, CONTROL_TOKEN)
        assert status == 200, text
        answer: dict[str, Any] = json.loads(text)
        return answer

    def generate(self, body: dict[str, Any], token: str = DATA_TOKEN) -> tuple[int, dict[str, Any]]:
        """A worker's request: status and answer."""
        status, text = call("POST", self.data_port, "/generate", body, token)
        return status, json.loads(text)

    def status(self) -> EngineStatus:
        """The engine's own word."""
        return EngineStatus.model_validate_json(self.get("/status")[1])

    def load(self, version: int) -> dict[str, Any]:
        """Hand over a policy."""
        return self.control("/load", {"policy_version": version, "uri": self.uri(version)})

    def admit(self, version: int) -> None:
        """Say that the policy is proven."""
        verdict = {"boot_id": self.status().boot_id, "policy_version": version, "canary_passed": True}
        self.control("/admit", verdict)

    def score(self, token_ids: list[int]) -> torch.Tensor:
        """Log-probabilities of the tokens but the first."""
        return torch.tensor(self.control("/score", {"token_ids": token_ids})["log_probs"])


def call(
    method: str, port: int, path: str, body: dict[str, Any] | None = None, token: str | None = None
) -> tuple[int, str]:
    """One HTTP request to this machine."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers=headers,
    )
    try:
        with urllib.request.urlopen(request, timeout=180) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def write_policies(store: Store) -> None:
    """The policies that the head of this file names."""
    torch.manual_seed(7)
    config = Qwen3MoeConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=64,
        moe_intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        num_experts=4,
        num_experts_per_tok=2,
        norm_topk_prob=True,
        max_position_embeddings=CONTEXT,
        initializer_range=0.08,
        eos_token_id=END,
        pad_token_id=0,
        tie_word_embeddings=False,
    )
    first = Path(store.root) / layout.policy_folder(0)
    model = Qwen3MoeForCausalLM(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "gate_up_proj" in name or "down_proj" in name or name.endswith("gate.weight"):
                parameter.normal_(std=config.initializer_range)
    model.to(torch.bfloat16).save_pretrained(first)
    (first / "generation_config.json").write_text(json.dumps({"eos_token_id": [END]}))
    for version in (1, 2):
        shutil.copytree(first, Path(store.root) / layout.policy_folder(version))
    changed = Path(store.root) / layout.policy_folder(2) / "model.safetensors"
    tensors = load_file(changed)
    tensors[CHANGED_EXPERT] = -3 * tensors[CHANGED_EXPERT]
    save_file(tensors, changed, metadata={"format": "pt"})
    for version in POLICY_VERSIONS:
        policies.finish(store, version)


def start_engine(
    folder: Path,
    store: Store,
    args: dict[str, str] | None = None,
    *,
    colocated: bool = False,
    control_token: str = CONTROL_TOKEN,
    variables: Mapping[str, str] | None = None,
) -> RunningEngine:
    """Start `spade-engine` as a pod would, with the run's vLLM arguments, on free ports; it is not ready yet.

    variables: of its environment, such as the keys of a bucket.
    """
    tokens = folder / "tokens"
    tokens.mkdir(parents=True)
    (tokens / f"{Door.ENGINE_DATA}.sha256").write_text(token_digest(DATA_TOKEN))
    (tokens / f"{Door.ENGINE_CONTROL}.sha256").write_text(token_digest(control_token))
    run = RunRef(namespace="test", name="engine", uid="0", storage_uri=store.uri)
    (folder / "task.json").write_text(EngineTask(run=run, args=args or {}, colocated=colocated).model_dump_json())
    data, control, status = free_ports(3)
    # No compiler in reach, as in the image; vLLM itself needs lscpu.
    scratch = Path(tempfile.mkdtemp(prefix="spade-", dir="/tmp"))  # a socket's name must be short
    programs = folder / "bin"
    programs.mkdir()
    (programs / "lscpu").symlink_to(shutil.which("lscpu") or "/usr/bin/lscpu")
    environment = {"PATH": str(programs), "HOME": str(scratch), "TMPDIR": str(scratch), "OMP_NUM_THREADS": "1"}
    environment |= variables or {}
    command = [sys.executable, "-m", "spade_trainer.engine.main"]
    command += ["--task", str(folder / "task.json"), "--tokens", str(tokens), "--host", "127.0.0.1"]
    command += ["--data-port", str(data), "--control-port", str(control), "--status-port", str(status)]
    return RunningEngine(subprocess.Popen(command, env=environment), store, scratch, data, control, status)


def wait_for_boot(engine: RunningEngine, wanted: EngineState = EngineState.UNVERIFIED) -> None:
    """Until vLLM has loaded policy 0; a learner beside it then sends it to sleep."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert engine.process.poll() is None, "spade-engine ended while starting"
        try:
            if engine.status().state is wanted:
                return
        except OSError:
            pass
        time.sleep(0.2)
    pytest.fail("the engine did not start in time")


def stop_engine(engine: RunningEngine) -> int:
    """SIGTERM, if it still runs, and wait; the exit code."""
    engine.process.send_signal(signal.SIGTERM)
    code = engine.process.wait(timeout=60)
    shutil.rmtree(engine.scratch, ignore_errors=True)
    return code


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Run storage with the policies."""
    opened = open_store(f"file://{tmp_path_factory.mktemp('storage')}")
    write_policies(opened)
    return opened


@pytest.fixture(scope="session")
def shared_engine(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEngine]:
    """The one engine; tests take `engine`, which brings it to a known state first."""
    running = start_engine(
        tmp_path_factory.mktemp("engine"),
        store,
        {"max-num-seqs": "32", "max-num-batched-tokens": str(CONTEXT)},
        colocated=True,
    )
    try:
        wait_for_boot(running)
        yield replace(running, boot_scores=running.score(PROBE))
    finally:
        assert stop_engine(running) == 0


@pytest.fixture
def engine(shared_engine: RunningEngine) -> RunningEngine:
    """The engine with policy 0 loaded, proven and serving."""
    shared_engine.load(0)
    shared_engine.admit(0)
    return shared_engine
