"""What a scripted engine drew, told again from the settings alone, to compare with what is trained."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tests.component.workers.scripted_engine import ScriptedEngine, generation

from spade_contracts.engine_api import GenerateRequest, GenerateResponse
from spade_trainer.assembly import Sample
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.store.episodes import Episode


@dataclass(frozen=True)
class Drawn:
    """One generation."""

    request: GenerateRequest
    response: GenerateResponse

    @property
    def start(self) -> int:
        """Tokens before it."""
        return len(self.request.token_ids)

    @property
    def tokens(self) -> tuple[int, ...]:
        """All tokens, from the prompt's first to the last drawn one."""
        return self.request.token_ids + self.response.token_ids


def by_seed(engine: ScriptedEngine) -> dict[int, Drawn]:
    """Everything that was drawn, by the seed of its request."""
    return {request.seed: Drawn(request, generation(engine, request)) for request in engine.requests}


def turns(drawn: dict[int, Drawn], run_seed: int, rollout: int, episode: Episode) -> tuple[Drawn, ...]:
    """The turns of an episode, in order."""

    def each() -> Iterator[Drawn]:
        turn = 0
        place = (rollout, episode.slot, int(episode.hinted), episode.play)
        while (seed := seed_for(run_seed, Purpose.TURN, *place, turn)) in drawn:
            yield drawn[seed]
            turn += 1

    return tuple(each())


def check_trained(sample: Sample, parts: tuple[Drawn, ...], trained: tuple[Drawn, ...]) -> None:
    """A sample must be these generations one after the other, with the tokens of the trained ones as they were drawn,
    and no others, to train.
    """
    assert sample.token_ids.tolist() == list(parts[-1].tokens)
    assert sample.prompt_tokens == parts[0].start
    mask, log_probs = np.zeros(sample.tokens, bool), np.zeros(sample.tokens, np.float32)
    for one in trained:
        mask[one.start : len(one.tokens)] = True
        log_probs[one.start : len(one.tokens)] = one.response.log_probs
    assert sample.loss_mask.tolist() == mask.tolist()
    assert sample.log_probs.tolist() == log_probs.tolist()
    for one in parts:
        assert sample.token_ids[: len(one.tokens)].tolist() == list(one.tokens)
