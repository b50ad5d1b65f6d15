"""An engine's metrics: its own, from the table in `spade_contracts.metrics`, and a choice of vLLM's."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from spade_contracts.metrics import metric
from spade_trainer.engine.life import Life
from spade_trainer.engine.refusals import Code

SERVED = "ok"
VLLM_NAMES = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "vllm:num_preemptions",
    "vllm:prefix_cache_queries",
    "vllm:prefix_cache_hits",
    "vllm:prompt_tokens",
    "vllm:generation_tokens",
    "vllm:request_success",
    "vllm:time_to_first_token_seconds",
    "vllm:inter_token_latency_seconds",
    "vllm:e2e_request_latency_seconds",
    "vllm:request_queue_time_seconds",
    "vllm:request_prefill_time_seconds",
    "vllm:request_decode_time_seconds",
    "vllm:corrupted_requests",
)
"""Families of vLLM that are shown (field-rl.md D4), without the suffixes of their samples."""
SUFFIXES = ("_total", "_created", "_bucket", "_sum", "_count", "")


@dataclass(frozen=True)
class Figures:
    """The engine's own metrics and their registry."""

    registry: CollectorRegistry
    policy_version: Gauge
    requests: Counter
    generated_tokens: Counter

    def life_changed(self, life: Life) -> None:
        """Show the proven version, -1 for none."""
        self.policy_version.set(-1 if life.verified is None else life.verified)

    def request_ended(self, result: str, tokens: int = 0) -> None:
        """Count a generation by its result (`ok` or a refusal's code), with the tokens it drew."""
        self.requests.labels(result).inc()
        self.generated_tokens.inc(tokens)


def new_figures() -> Figures:
    """Fresh metrics, every known label at zero."""
    registry = CollectorRegistry()
    version, requests, tokens = (
        metric(f"spade_engine_{name}") for name in ("policy_version", "requests_total", "generated_tokens_total")
    )
    figures = Figures(
        registry,
        Gauge(version.name, version.help, registry=registry),
        Counter(requests.name, requests.help, requests.labels, registry=registry),
        Counter(tokens.name, tokens.help, registry=registry),
    )
    figures.policy_version.set(-1)
    for result in (SERVED, *Code):
        figures.requests.labels(str(result))
    return figures


def exposition(figures: Figures, vllm: str) -> str:
    """The text that a scrape gets: ours, then vLLM's chosen families."""
    return generate_latest(figures.registry).decode() + selected(vllm)


def selected(vllm: str) -> str:
    """The lines of vLLM's exposition that belong to VLLM_NAMES."""
    shown = frozenset(name + suffix for name in VLLM_NAMES for suffix in SUFFIXES)
    lines = [line for line in vllm.splitlines() if _family(line) in shown]
    return "".join(f"{line}\n" for line in lines)


def _family(line: str) -> str:
    if line.startswith("# "):
        return line.split(" ")[2] if line.count(" ") > 2 else ""
    return line.partition("{")[0].partition(" ")[0]
