"""Verification of environment programs (design §10): `verify` for a designer's answer, `live` for episodes."""

from spade_sandbox.verify.context import GateContext
from spade_sandbox.verify.gate import Judgement, verify, verify_program
from spade_sandbox.verify.live import verifier_failure

__all__ = ["GateContext", "Judgement", "verifier_failure", "verify", "verify_program"]
