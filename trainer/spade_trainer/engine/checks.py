"""What a request must satisfy before vLLM sees it: vLLM ends its whole engine on a token id that it does not know."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spade_contracts.engine_api import GenerateRequest
from spade_trainer.engine.refusals import Code, Refused

MAX_TEMPERATURE = 10.0


@dataclass(frozen=True)
class Limits:
    """Bounds of the served model."""

    vocabulary: int
    """Token ids are below this."""
    max_tokens: int
    """Prompt and answer together, in tokens."""
    stop_token_ids: tuple[int, ...]


def check_generate(request: GenerateRequest, limits: Limits) -> int:
    """How many tokens may be drawn before the context is full. Raises Refused.

    `max_new_tokens` may be more: the generation then ends with the context, and its finish reason is `length`.
    """
    check_tokens(request.token_ids, limits)
    room = limits.max_tokens - len(request.token_ids)
    if room < 1:
        raise Refused(
            Code.TOO_LONG, f"the prompt has {len(request.token_ids)} tokens; at most {limits.max_tokens - 1} fit"
        )
    if not (math.isfinite(request.temperature) and 0 <= request.temperature <= MAX_TEMPERATURE):
        raise Refused(Code.BAD_REQUEST, f"temperature {request.temperature} is not from 0 to {MAX_TEMPERATURE:g}")
    if not 0 < request.top_p <= 1:
        raise Refused(Code.BAD_REQUEST, f"top_p {request.top_p} is not in (0, 1]")
    if request.top_k < -1 or request.top_k > limits.vocabulary:
        raise Refused(Code.BAD_REQUEST, f"top_k {request.top_k} is not from -1 to {limits.vocabulary}")
    if not 0 <= request.seed < 2**64:
        raise Refused(Code.BAD_REQUEST, f"seed {request.seed} does not fit into 64 bits without a sign")
    if request.log_prob_temperature not in (0.0, request.temperature):
        raise Refused(
            Code.BAD_REQUEST, f"log_prob_temperature {request.log_prob_temperature}; use 0 for the sampling temperature"
        )
    return room


def check_tokens(token_ids: Sequence[int], limits: Limits) -> None:
    """Raise Refused if an id is none of the model's."""
    for position, token in enumerate(token_ids):
        if not 0 <= token < limits.vocabulary:
            raise Refused(
                Code.BAD_REQUEST, f"token_ids[{position}] is {token}; the vocabulary ends at {limits.vocabulary - 1}"
            )
