"""A worker's metrics, built from the table in `spade_contracts.metrics`."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from spade_contracts.metrics import metric
from spade_contracts.statuses import Outcome, PrefixCheck
from spade_sandbox.client import OUTCOMES, PoolStats
from spade_trainer.assembly import SampleRole
from spade_trainer.design.corpus import Cut
from spade_trainer.design.endpoint import RequestResult
from spade_trainer.flaws import Flaw
from spade_trainer.store.designs import Usage
from spade_trainer.store.episodes import Episode

ENDPOINT_ROLES = ("designer", "hints")


@dataclass(frozen=True)
class Figures:
    """A worker's metrics and their registry."""

    registry: CollectorRegistry
    documents_cut: Counter
    episode_return: Histogram
    endpoint_cost: Counter
    endpoint_requests: Counter
    endpoint_tokens: Counter
    episodes: Counter
    flawed_answers: Counter
    prefix_checks: Counter
    sessions: Gauge
    sessions_ended: Counter
    step_seconds: Histogram
    tokens: Counter

    def episode_ended(self, episode: Episode) -> None:
        """Count an episode, its return and its tokens."""
        hinted = label(episode.hinted)
        self.episodes.labels(episode.outcome.value, hinted).inc()
        self.prefix_checks.labels(episode.prefix_check).inc()
        self.tokens.labels(SampleRole.PLAYER.value).inc(episode.trajectory.drawn_tokens)
        if episode.episode_return is not None and episode.outcome is Outcome.SCORED:
            self.episode_return.labels(hinted).observe(episode.episode_return)

    def answer_flawed(self, role: SampleRole, flaw: Flaw) -> None:
        """Count a flaw of one of the policy's answers."""
        self.flawed_answers.labels(role.value, flaw.value).inc()

    def document_cut(self, limit: Cut) -> None:
        """Count a document that was too long for a request."""
        self.documents_cut.labels(limit.value).inc()

    def program_drawn(self, tokens: int) -> None:
        """Count the tokens of a designer's answers and hints."""
        self.tokens.labels(SampleRole.DESIGNER.value).inc(tokens)

    def endpoint_asked(self, role: str, result: RequestResult) -> None:
        """Count a request to an endpoint; role: one of ENDPOINT_ROLES."""
        self.endpoint_requests.labels(role, result.value).inc()

    def endpoint_used(self, usage: Usage) -> None:
        """Count what endpoints say that they read and wrote, and what it cost."""
        self.endpoint_tokens.labels("prompt").inc(usage.prompt_tokens)
        self.endpoint_tokens.labels("completion").inc(usage.completion_tokens)
        self.endpoint_cost.inc(usage.cost)

    def session_ended(self, outcome: str) -> None:
        """Count a sandbox session."""
        self.sessions_ended.labels(outcome).inc()

    def show_sessions(self, stats: PoolStats) -> None:
        """Show the sandbox sessions as they are now."""
        self.sessions.labels("open").set(stats.open)
        self.sessions.labels("wanted").set(stats.wanted)


def label(hinted: bool) -> str:
    """The value of the label `hinted`."""
    return "true" if hinted else "false"


def new_figures() -> Figures:
    """Fresh metrics, every known label at zero."""
    registry = CollectorRegistry()

    def histogram(name: str) -> Histogram:
        spec = metric(name)
        return Histogram(spec.name, spec.help, spec.labels, buckets=spec.buckets, registry=registry)

    def counter(name: str) -> Counter:
        spec = metric(name)
        return Counter(spec.name, spec.help, spec.labels, registry=registry)

    sessions = metric("spade_sandbox_sessions")
    figures = Figures(
        registry=registry,
        documents_cut=counter("spade_worker_documents_cut_total"),
        episode_return=histogram("spade_episode_return"),
        endpoint_cost=counter("spade_endpoint_cost_total"),
        endpoint_requests=counter("spade_endpoint_requests_total"),
        endpoint_tokens=counter("spade_endpoint_tokens_total"),
        episodes=counter("spade_worker_episodes_total"),
        flawed_answers=counter("spade_worker_flawed_answers_total"),
        prefix_checks=counter("spade_worker_prefix_checks_total"),
        sessions=Gauge(sessions.name, sessions.help, sessions.labels, registry=registry),
        sessions_ended=counter("spade_sandbox_sessions_ended_total"),
        step_seconds=histogram("spade_sandbox_step_seconds"),
        tokens=counter("spade_worker_tokens_total"),
    )
    for hinted in (False, True):
        figures.episode_return.labels(label(hinted))
        for outcome in Outcome:
            figures.episodes.labels(outcome.value, label(hinted))
    for check in PrefixCheck:
        figures.prefix_checks.labels(check.value)
    for asker in ENDPOINT_ROLES:
        for result in RequestResult:
            figures.endpoint_requests.labels(asker, result.value)
    for kind in ("prompt", "completion"):
        figures.endpoint_tokens.labels(kind)
    for ended in OUTCOMES:
        figures.sessions_ended.labels(ended)
    for role in SampleRole:
        figures.tokens.labels(role.value)
        for flaw in Flaw:
            figures.flawed_answers.labels(role.value, flaw.value)
    for limit in Cut:
        figures.documents_cut.labels(limit.value)
    figures.show_sessions(PoolStats())
    return figures
