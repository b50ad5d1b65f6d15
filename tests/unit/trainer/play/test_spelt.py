"""A request whose tokens a conversation has spelt is sent exactly as one that is spelt anew."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.engine_api import FinishReason, GenerateRequest, GenerateResponse
from spade_trainer.play.engine_client import request_body
from spade_trainer.play.tokens import SpeltRequest, add_drawn, add_given, begin, seen, spelt

TOKENS = st.lists(st.integers(0, 200_000), min_size=1, max_size=20)
OTHERS: dict[str, Any] = {
    "temperature": 0.6,
    "top_p": 0.95,
    "top_k": 20,
    "max_new_tokens": 9,
    "seed": 2**60,
    "policy_version": 3,
}


@given(prompt=TOKENS, pieces=st.lists(st.tuples(st.booleans(), TOKENS, st.booleans()), max_size=5))
def test_what_is_sent_is_what_the_transcript_holds(
    prompt: list[int], pieces: list[tuple[bool, list[int], bool]]
) -> None:
    transcript = begin(prompt)
    for drawn, tokens, asked in pieces:
        if drawn:
            add_drawn(
                transcript,
                GenerateResponse(
                    token_ids=tuple(tokens),
                    log_probs=(-0.5,) * len(tokens),
                    finish_reason=FinishReason.STOP,
                    spans=(),
                    boot_id="scripted",
                ),
            )
        else:
            add_given(transcript, tokens)
        if asked:
            spelt(transcript)
    sent = SpeltRequest.model_construct(token_ids=seen(transcript), **OTHERS).spelt(transcript)
    plain = GenerateRequest(token_ids=tuple(transcript.token_ids), **OTHERS)
    assert json.loads(request_body(sent)) == json.loads(request_body(plain))
    assert GenerateRequest.model_validate_json(request_body(sent)) == plain
    unspelt = SpeltRequest.model_construct(token_ids=seen(transcript), **OTHERS)
    assert request_body(unspelt) == request_body(plain)
