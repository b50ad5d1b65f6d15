"""A watcher stops when a run has ended or cannot start, and says why."""

from datetime import UTC, datetime

import pytest
from rich.console import Console

from spade_cli import watch
from spade_cli.cluster import LiveView, Run
from spade_cli.main import show
from spade_contracts.errors import InfrastructureFault
from spade_contracts.resources import Condition, ConditionStatus, SpadeRunSpec, SpadeRunStatus

SPEC = SpadeRunSpec.model_validate({"model": {"uri": "package:tiny"}, "rollouts": 4})


def condition(kind: str, status: str, reason: str, message: str = "") -> Condition:
    return Condition(
        type=kind,
        status=ConditionStatus(status),
        reason=reason,
        message=message,
        last_transition_time=datetime(2026, 1, 1, tzinfo=UTC),
        observed_generation=1,
    )


def run_with(*conditions: Condition, observed: int = 1, **status: object) -> Run:
    return Run(
        "default", "mini", "uid", 1, SPEC,
        SpadeRunStatus.model_validate({"observed_generation": observed, "conditions": conditions, **status}),
    )  # fmt: skip


def test_run_has_ended_when_it_is_complete_or_failed() -> None:
    assert watch.ended(run_with(condition("Complete", "True", "Finished")))
    assert watch.ended(run_with(condition("Failed", "True", "RestartBudgetSpent")))
    assert not watch.ended(run_with(condition("Complete", "False", "Running")))


def test_status_of_an_older_spec_does_not_end_the_watch() -> None:
    assert not watch.ended(run_with(condition("Complete", "True", "Finished"), observed=0))


@pytest.mark.parametrize("reason", ["NotGVisor", "NetworkOpen"])
def test_run_that_is_not_isolated_is_refused_with_its_reason(reason: str) -> None:
    assert reason in watch.refused(run_with(condition("Isolated", "False", reason, "why")))


def test_suspended_run_is_not_refused_and_the_report_says_how_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    run = run_with(
        condition("Isolated", "False", "SuspendedByUser"), condition("Suspended", "True", "SuspendedByUser"), rollout=2
    )
    assert not watch.refused(run)
    show(run, Console())
    out = capsys.readouterr().out
    assert "is suspended. Set spec.suspend: Never to go on." in out
    assert "2 earlier rollouts are not in the status" in out


def test_queued_run_is_waited_for_and_the_report_has_kueues_words(capsys: pytest.CaptureFixture[str]) -> None:
    run = run_with(condition("Suspended", "True", "Queued", "LocalQueue team: insufficient quota"))
    assert not watch.refused(
        run_with(condition("Isolated", "False", "Queued"), condition("Suspended", "False", "Suspending"))
    )
    assert not watch.refused(run)
    assert not watch.ended(run)
    show(run, Console())
    assert "waits in its queue. LocalQueue team: insufficient quota" in capsys.readouterr().out


def test_run_that_is_being_probed_is_not_refused() -> None:
    assert not watch.refused(run_with(condition("Isolated", "False", "Probing")))


def test_progress_names_rollout_cycle_work_episodes_and_learnable_fraction() -> None:
    live = LiveView(rollout=1, cycle=0, doing="playing", episodes_done=3, episodes_planned=24)
    line = watch.progress_line(run_with(rollout=1, learnable_fraction="0.500"), live)
    assert line == "1 of 4 rollouts done | cycle 0 | playing | episodes 3/24 | learnable 0.500"


def test_progress_tells_what_endpoints_cost_when_there_are_any() -> None:
    asked = run_with(rollout=1, endpoint_requests=12, endpoint_cost="0.034500")
    assert watch.progress_line(asked, None).endswith("| endpoints 12 requests, cost 0.034500")
    assert "endpoints" not in watch.progress_line(run_with(rollout=1), None)


def test_silent_api_server_is_waited_for_and_then_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> Run:
        raise InfrastructureFault("no answer")

    monkeypatch.setattr(watch, "get_run", silent)
    now = iter(range(0, 100000, 10))
    with pytest.raises(InfrastructureFault):
        watch.follow(
            None, "default", "mini", operator_namespace="spade-system", timeout_seconds=1e9,
            console=Console(quiet=True), clock=lambda: float(next(now)), pause=lambda _: None,
        )  # fmt: skip


def test_refusal_of_an_older_spec_is_none_of_the_present_one() -> None:
    refusal = condition("Accepted", "False", "InvalidSpec", "no")
    assert watch.refused(run_with(refusal))
    assert not watch.refused(run_with(refusal, observed=0))


def seconds_followed(monkeypatch: pytest.MonkeyPatch, *runs: Run) -> float:
    """How long the watch looks at these states, one a second; the last stands."""
    states = iter(runs)
    latest = list(runs[-1:])
    monkeypatch.setattr(watch, "get_run", lambda *_: next(states, latest[0]))
    monkeypatch.setattr(watch, "live_view", lambda *_: None)
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    watch.follow(
        None, "default", "mini", operator_namespace="spade-system", timeout_seconds=300.0,
        console=Console(quiet=True), clock=lambda: now[0], pause=pause,
    )  # fmt: skip
    return now[0]


@pytest.mark.parametrize("reason", sorted(watch.LASTING))
def test_refusal_that_only_the_user_can_heal_ends_the_watch_at_once(
    monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    assert seconds_followed(monkeypatch, run_with(condition("Accepted", "False", reason))) == 0


@pytest.mark.parametrize(("kind", "reason"), [("Accepted", "Unschedulable"), ("Isolated", "NetworkOpen")])
def test_refusal_that_can_pass_is_waited_for_while_its_words_may_change(
    monkeypatch: pytest.MonkeyPatch, kind: str, reason: str
) -> None:
    states = [run_with(condition(kind, "False", reason, f"pod {number}")) for number in range(200)]
    assert seconds_followed(monkeypatch, *states) == watch.REFUSAL_PATIENCE_SECONDS


def test_patience_begins_anew_with_another_refusal_and_after_one_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = [run_with(condition("Accepted", "False", "Unschedulable"))] * 40
    spied = [run_with(condition("Isolated", "False", "NetworkOpen"))] * 40
    probed = [run_with(condition("Isolated", "False", "Probing"))]
    end = [run_with(condition("Complete", "True", "Finished"))]
    assert seconds_followed(monkeypatch, *stuck, *spied, *probed, *spied, *end) == 121
