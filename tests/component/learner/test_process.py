"""The learner as a pod runs it: it trains, proves, survives any kill exactly, and admits no engine that is wrong."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.component.learner.engine_double import EngineDouble, serving
from tests.component.learner.process import ENGINE_TOKEN, RunningLearner, start_group, start_learner
from tests.component.learner.runs import make_run, settings
from tests.support.ports import free_ports

from spade_contracts.manifests import StepManifest
from spade_contracts.statuses import EngineProof, LearnerState, LearnerStatus, ProofResult
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, local_path, open_store, replace

ROLLOUTS = 4
HOSTS = {"good": "127.0.0.1", "stale": "127.0.0.2", "deaf": "127.0.0.3"}


@dataclass(frozen=True)
class Whole:
    """A run that was trained to its end without a disturbance, and what was seen on the way."""

    store: Store
    learner: RunningLearner
    engines: dict[str, EngineDouble]
    proofs: list[dict[str, EngineProof]]
    """By version, by engine."""
    metrics: str


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder with all rollouts played and nothing trained."""
    folder = tmp_path_factory.mktemp("recorded")
    make_run(folder, settings(), rollouts=ROLLOUTS)
    return folder


@pytest.fixture
def copy(recorded: Path, tmp_path: Path) -> Store:
    """The recorded run in a folder of one's own."""
    shutil.copytree(recorded, tmp_path / "storage")
    return open_store((tmp_path / "storage").as_uri())


@pytest.fixture(scope="module")
def whole(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """Trained to the end before three engines: one good, one that ignores loads but the first, one deaf to canaries."""
    folder = tmp_path_factory.mktemp("whole")
    shutil.copytree(recorded, folder / "storage")
    store = open_store((folder / "storage").as_uri())
    engines = {name: EngineDouble(ENGINE_TOKEN) for name in HOSTS}
    engines["stale"].ignores_loads = engines["deaf"].ignores_canary = True
    control, status = free_ports(2)
    with ExitStack() as stack:
        for name, host in HOSTS.items():
            stack.enter_context(serving(engines[name], host, control, status))
        learner = start_learner(folder / "learner", store, engine_ports=(control, status))
        stack.callback(learner.stop)
        learner.until_listening()
        proofs = []
        for version in range(ROLLOUTS + 1):
            assert learner.put_target(version, HOSTS, last=ROLLOUTS) == 200
            proofs.append(proofs_of(learner.until(proven(version, len(HOSTS)))))
        learner.until(lambda now: now.state is LearnerState.IDLE)
        yield Whole(store, learner, engines, proofs, learner.text("/metrics"))


def proven(version: int, engines: int) -> Callable[[LearnerStatus], bool]:
    """Whether so many engines have been found right or wrong at this version."""

    def reached(now: LearnerStatus) -> bool:
        judged = [proof for proof in now.proofs if proof.result is not ProofResult.UNREACHABLE]
        return sum(proof.policy_version == version for proof in judged) == engines

    return reached


def proofs_of(status: LearnerStatus) -> dict[str, EngineProof]:
    return {proof.name: proof for proof in status.proofs}


def steps_of(store: Store) -> list[StepManifest]:
    return [manifests.read(store, manifests.step_path(rollout), StepManifest) for rollout in range(ROLLOUTS)]


def test_every_rollout_is_trained_with_a_gradient_and_delayed_designs_are_trained_too(whole: Whole) -> None:
    steps = steps_of(whole.store)
    assert all(step.gradient_norm > 0 for step in steps)
    assert [step.designer_samples for step in steps] == [0, 0, 4, 4]
    assert [step.designer_cycles for step in steps] == [(), (), (0,), (1,)]
    assert len({step.parameter_sha256 for step in steps}) == ROLLOUTS


def test_a_good_engine_is_verified_at_every_version(whole: Whole) -> None:
    assert [proofs["good"].result for proofs in whole.proofs] == [ProofResult.VERIFIED] * (ROLLOUTS + 1)
    # A busy machine may have a version loaded twice; none is left out and none comes back.
    assert list(dict.fromkeys(whole.engines["good"].loads)) == list(range(ROLLOUTS + 1))
    assert whole.engines["good"].loads == sorted(whole.engines["good"].loads)


def test_an_engine_that_keeps_its_first_weights_is_found_at_the_second_version(whole: Whole) -> None:
    results = [proofs["stale"].result for proofs in whole.proofs]
    assert results == [ProofResult.VERIFIED] + [ProofResult.MISMATCH] * ROLLOUTS
    assert whole.engines["stale"].verified is None
    assert whole.engines["stale"].loads.count(1) == 2


def test_an_engine_that_is_deaf_to_the_canary_is_never_admitted(whole: Whole) -> None:
    assert {proofs["deaf"].result for proofs in whole.proofs} == {ProofResult.MISMATCH}
    assert "canary" in whole.proofs[0]["deaf"].detail
    assert whole.engines["deaf"].verified is None


def test_checkpoints_follow_the_schedule_and_the_newest_policies_are_kept(whole: Whole) -> None:
    assert manifests.finished_checkpoints(whole.store) == (2, 4)
    assert manifests.finished(whole.store, layout.POLICIES, layout.POLICY) == (0, 2, 3, 4)
    last = manifests.read_checkpoint(whole.store, ROLLOUTS)
    assert last.parameter_sha256 == steps_of(whole.store)[-1].parameter_sha256


def test_the_metrics_have_the_step_and_the_transfers(whole: Whole) -> None:
    values = dict(line.rsplit(" ", 1) for line in whole.metrics.splitlines() if not line.startswith("#"))
    assert float(values["spade_train_step_seconds_count"]) == ROLLOUTS
    assert float(values["spade_gradient_norm"]) == steps_of(whole.store)[-1].gradient_norm
    assert float(values['spade_weight_sync_seconds_count{transport="files"}']) >= ROLLOUTS + 1
    assert 0 < float(values['spade_idle_ratio{role="learner"}']) < 1


def test_strangers_set_no_target_and_targets_only_grow(whole: Whole) -> None:
    assert whole.learner.put_target(9, token="guess") == 401
    assert whole.learner.put_target(ROLLOUTS - 1, HOSTS) == 409
    status = whole.learner.status()
    assert status is not None
    assert status.target == ROLLOUTS


def test_a_restarted_engine_is_proven_again_without_being_asked(whole: Whole) -> None:
    good = whole.engines["good"]
    good.restart()
    status = whole.learner.until(
        lambda now: proofs_of(now)["good"].boot_id == good.boot_id and good.verified is not None
    )
    assert proofs_of(status)["good"].result is ProofResult.VERIFIED
    assert good.verified == ROLLOUTS


def test_a_rank_that_dies_takes_the_group_down(whole: Whole) -> None:
    whole.learner.ranks()[1].kill()
    assert whole.learner.process.wait(30) == 1
    assert whole.learner.status() is None


def test_a_run_that_is_killed_again_and_again_ends_as_if_it_never_was(
    copy: Store, whole: Whole, tmp_path: Path
) -> None:
    """Killed while it works on: before any checkpoint, then after one. Every restart replays what is recorded."""
    for attempt, version in enumerate((1, 3, ROLLOUTS)):
        learner = start_learner(tmp_path / f"learner{attempt}", copy)
        try:
            learner.until_listening()
            learner.put_target(ROLLOUTS, last=ROLLOUTS)
            status = learner.until(lambda now, wanted=version: (now.policy_version or 0) >= wanted)
            assert status.replay_diverged is None
            assert status.replayed_steps > 0 or attempt == 0
        finally:
            learner.kill()
    assert steps_of(copy) == steps_of(whole.store)


def test_a_group_of_two_nodes_that_lost_one_is_replaced_and_ends_as_one_node_does(
    copy: Store, whole: Whole, tmp_path: Path
) -> None:
    """The lost node has no part in HTTP: the other one sees the loss by itself. The next group replays and goes on."""
    for attempt, version in enumerate((1, ROLLOUTS)):
        group = start_group(tmp_path / f"group{attempt}", copy, first=attempt)
        try:
            group[0].until_listening()
            assert group[1].status() is None, "only the first node answers"
            group[0].put_target(version, last=ROLLOUTS)
            end = group[0].until(lambda now, wanted=version: (now.policy_version or 0) >= wanted)
            assert (end.replayed_steps, end.replay_diverged) == (attempt, None)
            group[1].kill()
            assert group[0].process.wait(60) == 1
        finally:
            for node in group.values():
                node.stop()
    assert steps_of(copy) == steps_of(whole.store)


def test_a_replay_that_gives_other_parameters_stops_and_says_so(copy: Store, whole: Whole, tmp_path: Path) -> None:
    forged = steps_of(whole.store)[0].model_copy(update={"parameter_sha256": "0" * 64})
    replace(copy, manifests.step_path(0), manifests.canonical_json(forged))
    learner = start_learner(tmp_path / "learner", copy)
    try:
        learner.until_listening()
        learner.put_target(2)
        status = learner.until(lambda now: now.state is LearnerState.FAILED)
        assert status.replay_diverged == 0
        assert "other parameters" in status.error
        assert not local_path(copy, layout.step_folder(1)).exists()
    finally:
        learner.stop()
