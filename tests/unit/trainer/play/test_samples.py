"""The compact filter leaves a truncated episode in its group and trains none of its tokens (method.md §5.2)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.trainer.builders import episode, method, run_manifest, trajectory, write_rollout

from spade_contracts.config import MethodConfig
from spade_contracts.statuses import Outcome
from spade_trainer.assembly import assemble
from spade_trainer.play.samples import trained_sequences
from spade_trainer.store import manifests
from spade_trainer.store.episodes import Episode, Trajectory, TurnTokens, write_episodes
from spade_trainer.store.objects import open_store

MASKED = method(play={"truncated": "Masked"})
TRAINED = method(play={"truncated": "Trained"})


def truncated(play: int) -> Episode:
    return replace(episode("c0000-s000", play, 0.0), outcome=Outcome.TRUNCATED, terminated=False)


@pytest.mark.parametrize(("config", "tokens"), [(MASKED, 0), (TRAINED, 4)])
def test_a_truncated_episode_is_trained_by_setting(config: MethodConfig, tokens: int) -> None:
    ((name, sequence),) = trained_sequences(config.play, truncated(0))
    assert (name, int(sequence.loss_mask.sum())) == ("", tokens)
    assert sequence.token_ids.tolist() == truncated(0).trajectory.token_ids.tolist()
    assert (sequence.log_probs[~sequence.loss_mask] == 0).all()


@pytest.mark.parametrize("config", [MASKED, TRAINED])
def test_an_episode_that_ended_is_trained_whatever_the_setting(config: MethodConfig) -> None:
    ((_, sequence),) = trained_sequences(config.play, episode("c0000-s000", 0, 0.0))
    assert sequence.loss_mask.any()


def test_a_masked_episode_still_counts_in_mean_deviation_and_batch(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    write_rollout(store, 0, 0, {"c0000-s000": [1.0, 0.0]})
    manifest = manifests.read_rollout(store, 0)
    part = manifest.episodes[0]
    (tmp_path / "rollouts" / "0000" / part).unlink()
    write_episodes(store, 0, 0, 0, [episode("c0000-s000", 0, 1.0), truncated(1)])
    batch = assemble(store, run_manifest(MASKED), 0)
    assert [sample.advantage for sample in batch.samples] == pytest.approx([1.0, -1.0])
    assert [int(sample.loss_mask.sum()) for sample in batch.samples] == [4, 0]
    assert [sample.denominator_tokens for sample in batch.samples] == [4, 1]
    assert batch.denominator == 2


def joined(sizes: list[tuple[int, int]], versions: list[int]) -> Episode:
    """An episode of turns with (prompt tokens, drawn tokens), each drawn by one version."""
    parts = [
        trajectory(number, version, tokens=prompt + drawn, prompt=prompt)
        for number, ((prompt, drawn), version) in enumerate(zip(sizes, versions, strict=True))
    ]
    spans: list[tuple[int, int]] = []
    for version, count in (part.spans[0] for part in parts):
        if spans and spans[-1][0] == version:
            spans[-1] = (version, spans[-1][1] + count)
        else:
            spans.append((version, count))
    whole = Trajectory(
        token_ids=np.concatenate([part.token_ids for part in parts]),
        loss_mask=np.concatenate([part.loss_mask for part in parts]),
        log_probs=np.concatenate([part.log_probs for part in parts]),
        prompt_tokens=parts[0].prompt_tokens,
        spans=tuple(spans),
    )
    turns = tuple(TurnTokens(prompt + drawn, prompt) for prompt, drawn in sizes)
    return replace(episode("c0000-s000", 0, 1.0), trajectory=whole, per_turn=turns)


TURNS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 1)), min_size=1, max_size=6)


@given(TURNS)
def test_turns_come_apart_as_they_were_put_together(turns: list[tuple[int, int, int]]) -> None:
    whole = joined([(prompt, drawn) for prompt, drawn, _ in turns], [version for *_, version in turns])
    parts = trained_sequences(MASKED.play, whole)
    assert [name for name, _ in parts] == [f"/t{number:02d}" for number in range(len(turns))]
    for number, ((prompt, drawn, version), (_, part)) in enumerate(zip(turns, parts, strict=True)):
        alone = trajectory(number, version, tokens=prompt + drawn, prompt=prompt)
        assert part.spans == alone.spans
        assert part.prompt_tokens == prompt
        for name in ("token_ids", "loss_mask", "log_probs"):
            assert getattr(part, name).tolist() == getattr(alone, name).tolist()
