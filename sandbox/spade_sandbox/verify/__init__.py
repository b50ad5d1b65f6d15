"""Verification of environment programs (design §10): `verify` for a designer's answer, `live` for episodes."""

from spade_sandbox.verify.context import GateContext
from spade_sandbox.verify.gate import Judgement, verify, verify_program
from spade_sandbox.verify.live import Play, concentration, contradictions, verifier_failure

__all__ = [
    "GateContext",
    "Judgement",
    "Play",
    "concentration",
    "contradictions",
    "verifier_failure",
    "verify",
    "verify_program",
]
