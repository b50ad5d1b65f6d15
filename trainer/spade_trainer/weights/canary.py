"""The start-up canary: once at each engine boot, a known tensor is moved and must be seen to move (design §7)."""

from spade_trainer.weights.engine_client import EngineClient
from spade_trainer.weights.probe import CANARY_FACTOR, Expected
from spade_trainer.weights.proof import judge_canary


async def run_canary(engine: EngineClient, token_ids: tuple[int, ...], expected: Expected) -> str:
    """Scale the canary tensor, score the probe, restore the tensor. Empty if it moved as expected, else what is wrong.

    The engine must hold `expected`'s policy. The caller scores once more: the restored tensor must fit again. Raises
    EngineFault.
    """
    await engine.canary(CANARY_FACTOR)
    scores = (await engine.score(token_ids)).log_probs
    await engine.canary(1.0)
    return judge_canary(scores, expected)
