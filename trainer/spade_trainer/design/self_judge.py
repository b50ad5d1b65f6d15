"""The policy as the gate's model judge (method.md §4.3: the reference's judge is the model that is trained).

It is asked as the gate asks any judge, and its answer counts as any judge's does: only a clear yes accepts. Its tokens
are not trained.
"""

import hashlib

from spade_contracts.config.sampling import SamplingConfig, Thinking
from spade_contracts.config.verification import JudgeSettings
from spade_contracts.errors import SpadeError
from spade_sandbox.verify.judge import Judge
from spade_trainer.design.writing import Policy, by_policy
from spade_trainer.randomness import Purpose, seed_for

LEAST_TEMPERATURE = 1e-3
"""In place of 0, which no distribution has; the likeliest token is drawn at it."""


class TooLongToJudge(SpadeError):
    """The program leaves no room for an answer in the policy's context, so the judge cannot be asked."""


class JudgementCut(SpadeError):
    """The policy's answer did not end by itself, so nobody knows what it would have said last."""


def policy_judge(policy: Policy, settings: JudgeSettings, run_seed: int) -> Judge:
    """A judge that asks the policy, without thinking.

    Its draws follow from the run's seed and what it is asked, so a program that is judged again gets the same answer of
    the same policy. Asking raises TooLongToJudge, JudgementCut, and InfrastructureFault if engines fail; the gate
    rejects on each.
    """

    async def ask(prompt: str) -> str:
        tokens = policy.chat.prompt([{"role": "user", "content": prompt}], thinking=Thinking.OFF)
        room = policy.room(tokens)
        if room <= 0:
            raise TooLongToJudge(f"the question has {len(tokens)} tokens, the context {policy.chat.context_tokens}")
        sampling = SamplingConfig(
            temperature=max(LEAST_TEMPERATURE, settings.temperature),
            top_p=settings.top_p,
            top_k=-1,
            max_new_tokens=settings.max_tokens,
        )
        asked = int.from_bytes(hashlib.sha256(prompt.encode("utf-8", "replace")).digest()[:8], "big")
        seed = seed_for(run_seed, Purpose.JUDGE, asked)
        written = await by_policy(policy, tokens, sampling, seed=seed, timeout_seconds=settings.timeout_seconds)
        if int(written.trajectory.token_ids[-1]) not in policy.chat.stop_token_ids:
            cut = f"the answer did not end within {written.tokens} tokens"
            raise JudgementCut(cut, remedy="Raise verification.judge.maxTokens.")
        return written.text

    return ask
