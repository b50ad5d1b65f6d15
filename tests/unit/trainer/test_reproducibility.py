"""A run is its draws: the same ones give the same manifests byte for byte, whoever did the work and in which order."""

import asyncio
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.trainer.byte_model import write_byte_model
from tests.unit.trainer.whole_run import manifest_bytes, recorded, run, scripted, small
from tests.unit.trainer.written import Request

from spade_contracts.config.method import Profile
from spade_contracts.engine_api import GenerateRequest, GenerateResponse
from spade_trainer.chat import Chat, load_chat
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.store.objects import open_store

ROLLOUTS = 5


def won(request: Request) -> bool:
    """Wins that differ from environment to environment, rollout to rollout and arm to arm."""
    return (7 * request.slot + 3 * request.rollout + 5 * (request.play or 0) + request.hinted) % 4 < request.slot


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    return load_chat(write_byte_model(tmp_path_factory.mktemp("model"), context_tokens=65536))


@pytest.mark.parametrize("profile", Profile)
async def test_a_run_that_draws_what_storage_recorded_has_byte_equal_manifests(
    profile: Profile, tmp_path: Path, chat: Chat
) -> None:
    config = small(profile)
    first, second = (open_store((tmp_path / name).as_uri()) for name in ("first", "second"))
    await run(first, config, ROLLOUTS, chat, scripted(chat, config, ROLLOUTS, won))
    await run(second, config, ROLLOUTS, chat, recorded(first, config, ROLLOUTS, chat))
    expected = manifest_bytes(first, ROLLOUTS, config)
    assert manifest_bytes(second, ROLLOUTS, config) == expected
    assert len(expected) == 1 + 3 + 2 * ROLLOUTS


async def test_one_other_log_probability_shows_in_the_manifest_of_its_step(tmp_path: Path, chat: Chat) -> None:
    config = small()
    first, second = (open_store((tmp_path / name).as_uri()) for name in ("first", "second"))
    await run(first, config, ROLLOUTS, chat, scripted(chat, config, ROLLOUTS, won))
    original = recorded(first, config, ROLLOUTS, chat)
    changed = seed_for(config.seed, Purpose.TURN, 0, 0, 0, 1, 0)

    async def other(request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        drawn = await original(request, timeout_seconds)
        if request.seed != changed:
            return drawn
        return drawn.model_copy(update={"log_probs": (*drawn.log_probs[:-1], drawn.log_probs[-1] - 1.0)})

    await run(second, config, ROLLOUTS, chat, other)
    one, two = (manifest_bytes(store, ROLLOUTS, config) for store in (first, second))
    assert [path for path in one if one[path] != two[path]] == ["steps/0000/step.json"]


def manifests_of(chat: Chat, workers: int, order: random.Random | None) -> dict[str, bytes]:
    """Of a run of three rollouts, the last of which trains designer samples."""
    config = small()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder).as_uri())
        engine = scripted(chat, config, 3, won)
        asyncio.run(run(store, config, 3, chat, engine, workers=workers, order=order))
        return dict(manifest_bytes(store, 3, config))


@pytest.fixture(scope="module")
def in_order(chat: Chat) -> dict[str, bytes]:
    return manifests_of(chat, 1, None)


@settings(max_examples=8, deadline=None)
@given(workers=st.integers(1, 4), order=st.randoms(use_true_random=False))
def test_the_order_in_which_workers_and_episodes_end_changes_nothing(
    workers: int, order: random.Random, chat: Chat, in_order: dict[str, bytes]
) -> None:
    assert manifests_of(chat, workers, order) == in_order
