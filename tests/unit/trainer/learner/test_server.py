"""Only the operator sets the target, targets only grow, and everyone may look."""

import pytest
from aiohttp.test_utils import TestClient, TestServer

from spade_contracts.statuses import EngineProof, LearnerState, LearnerStatus, LearnerTarget, ProofResult
from spade_contracts.tokens import token_digest
from spade_trainer.learner.board import Board
from spade_trainer.learner.figures import IdleClock, new_figures
from spade_trainer.learner.server import control_app, open_app

TOKEN = "secret"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def body(version: int) -> dict[str, object]:
    return {"policy_version": version, "engines": [{"name": "e0", "host": "10.0.0.1"}]}


@pytest.fixture
def board() -> Board:
    return Board("boot-0123456789")


async def put(board: Board, content: object, headers: dict[str, str]) -> int:
    async with TestClient(TestServer(control_app(board, token_digest(TOKEN)))) as client:
        return (await client.put("/target", json=content, headers=headers)).status


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}])
async def test_a_stranger_sets_no_target(board: Board, headers: dict[str, str]) -> None:
    assert await put(board, body(1), headers) == 401
    assert board.read().target is None


async def test_the_operator_sets_the_target_as_often_as_it_likes(board: Board) -> None:
    assert [await put(board, body(version), HEADERS) for version in (1, 1, 2)] == [200, 200, 200]
    target = board.read().target
    assert target is not None
    assert target.policy_version == 2


async def test_a_target_behind_the_weights_is_refused(board: Board) -> None:
    board.change(policy_version=4)
    assert await put(board, body(3), HEADERS) == 409
    assert board.read().target is None


async def test_a_body_that_is_no_target_is_refused(board: Board) -> None:
    assert await put(board, {"policy_version": -1, "engines": []}, HEADERS) == 400


async def test_everyone_may_look(board: Board) -> None:
    async with TestClient(TestServer(open_app(board, new_figures()))) as client:
        status = LearnerStatus.model_validate_json(await (await client.get("/status")).read())
        assert (status.boot_id, status.state) == ("boot-0123456789", LearnerState.STARTING)
        assert (await client.get("/healthz")).status == 200
        assert 'spade_weight_sync_seconds_count{transport="files"} 0.0' in await (await client.get("/metrics")).text()


async def test_a_failed_learner_says_so_and_is_unhealthy(board: Board) -> None:
    board.change(work=LearnerState.FAILED, error="disk on fire")
    async with TestClient(TestServer(open_app(board, new_figures()))) as client:
        assert (await client.get("/healthz")).status == 500
        status = LearnerStatus.model_validate_json(await (await client.get("/status")).read())
        assert status.error == "disk on fire"


def test_proofs_of_engines_that_left_the_target_are_not_shown(board: Board) -> None:
    proofs = {
        name: EngineProof(name=name, boot_id="b", policy_version=1, result=ProofResult.VERIFIED)
        for name in ("old", "new")
    }
    target = LearnerTarget.model_validate({"policy_version": 1, "engines": [{"name": "new", "host": "h"}]})
    board.change(proofs=proofs, target=target)
    assert [proof.name for proof in board.read().status().proofs] == ["new"]


def test_a_waiting_learner_with_a_running_proof_is_proving(board: Board) -> None:
    board.change(work=LearnerState.IDLE, proving=1)
    assert board.read().status().state is LearnerState.PROVING
    board.change(work=LearnerState.TRAINING)
    assert board.read().status().state is LearnerState.TRAINING


def test_the_idle_ratio_is_the_share_of_time_spent_waiting() -> None:
    now = [0.0]
    figures = new_figures()
    clock = IdleClock(figures, clock=lambda: now[0])
    now[0] = 10.0
    clock.waited(4.0)
    assert figures.registry.get_sample_value("spade_idle_ratio", {"role": "learner"}) == pytest.approx(0.4)
