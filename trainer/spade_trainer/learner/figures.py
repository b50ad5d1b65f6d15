"""The learner's metrics, from the table in `spade_contracts.metrics`."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Gauge, Histogram

from spade_contracts.metrics import metric
from spade_contracts.statuses import StepFigures

ROLE = "learner"
TRANSPORTS = ("files",)
KINDS = ("player", "designer", "repeat", "trimmed", "padding", "masked", "alone")
"""Of samples (Batch.counts)."""


@dataclass(frozen=True)
class Figures:
    """The learner's own metrics and their registry."""

    registry: CollectorRegistry
    step_seconds: Histogram
    loss: Gauge
    kl: Gauge
    gradient_norm: Gauge
    designer_reward: Gauge
    samples: Gauge
    clipped_fraction: Gauge
    sync_seconds: Histogram
    idle_ratio: Gauge

    def stepped(self, step: StepFigures, designer_reward: float | None, samples: Mapping[str, int]) -> None:
        """Record an optimiser step. samples: counts by kind (Batch.counts)."""
        self.step_seconds.observe(step.seconds)
        self.loss.set(step.loss)
        self.kl.set(step.kl)
        self.gradient_norm.set(step.gradient_norm)
        self.clipped_fraction.set(step.importance_clipped_fraction)
        if designer_reward is not None:
            self.designer_reward.set(designer_reward)
        for kind, count in samples.items():
            self.samples.labels(kind).set(count)

    def transferred(self, transport: str, seconds: float) -> None:
        """Record the transfer of one policy to one engine."""
        self.sync_seconds.labels(transport).observe(seconds)


def new_figures() -> Figures:
    """Fresh metrics, every known label at zero."""
    registry = CollectorRegistry()

    def gauge(name: str) -> Gauge:
        spec = metric(name)
        return Gauge(spec.name, spec.help, spec.labels, registry=registry)

    def histogram(name: str) -> Histogram:
        spec = metric(name)
        return Histogram(spec.name, spec.help, spec.labels, registry=registry, buckets=spec.buckets)

    figures = Figures(
        registry=registry,
        step_seconds=histogram("spade_train_step_seconds"),
        loss=gauge("spade_loss"),
        kl=gauge("spade_kl"),
        gradient_norm=gauge("spade_gradient_norm"),
        designer_reward=gauge("spade_designer_reward"),
        samples=gauge("spade_step_samples"),
        clipped_fraction=gauge("spade_importance_clipped_fraction"),
        sync_seconds=histogram("spade_weight_sync_seconds"),
        idle_ratio=gauge("spade_idle_ratio"),
    )
    for transport in TRANSPORTS:
        figures.sync_seconds.labels(transport)
    for kind in KINDS:
        figures.samples.labels(kind)
    figures.idle_ratio.labels(ROLE).set(0)
    return figures


class IdleClock:
    """Share of the time since its start that was spent waiting."""

    def __init__(self, figures: Figures, clock: Callable[[], float] = time.monotonic) -> None:
        self._figures = figures
        self._clock = clock
        self._began = clock()
        self._idle_seconds = 0.0

    def waited(self, seconds: float) -> None:
        """Count waiting, and show the share."""
        self._idle_seconds += seconds
        whole = max(self._clock() - self._began, 1e-9)
        self._figures.idle_ratio.labels(ROLE).set(min(1.0, self._idle_seconds / whole))
