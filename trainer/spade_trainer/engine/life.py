"""The life of an engine's weights, as pure transitions: what is loaded, what is proven, what may be asked.

    STARTING → UNVERIFIED ⇄ UPDATING → UNVERIFIED → SERVING
                    └──────────┴→ FAILED (until a load succeeds)
    UNVERIFIED, SERVING → ASLEEP → UNVERIFIED

Only `admitted` leads to SERVING, and everything that touches weights leads away from it.
"""

from dataclasses import dataclass, replace

from spade_contracts.engine_api import AdmitRequest
from spade_contracts.statuses import EngineState
from spade_trainer.engine.refusals import Code, Refused


@dataclass(frozen=True)
class Life:
    """One moment of an engine."""

    state: EngineState = EngineState.STARTING
    loaded: int | None = None
    """Version whose tensors the model was handed last; None while that is not known."""
    genuine: bool = True
    """Whether these tensors are those of the version's policy.json."""
    verified: int | None = None
    """Version that the learner has admitted; None unless SERVING."""
    canary_factor: float = 1.0
    """What `model.norm.weight` is multiplied by at present."""
    canary_passed: bool = False
    """Whether the learner said so at this boot."""
    error: str = ""


def booted(life: Life, version: int) -> Life:
    """vLLM answers and has read this version from its files."""
    return replace(life, state=EngineState.UNVERIFIED, loaded=version, verified=None)


def updating(life: Life) -> Life:
    """The weights are about to be touched: from here on nothing is proven."""
    return replace(life, state=EngineState.UPDATING, verified=None)


def loaded(life: Life, version: int, *, genuine: bool) -> Life:
    """All tensors in a version's folder were handed to the model. genuine: they are those of its policy.json."""
    error = "" if genuine else f"the tensors loaded for policy {version} are not those of its policy.json"
    fresh = replace(life, state=EngineState.UNVERIFIED, loaded=version, genuine=genuine)
    return replace(fresh, verified=None, canary_factor=1.0, error=error)


def scaled(life: Life, factor: float) -> Life:
    """The canary tensor was set to its loaded value times the factor."""
    return replace(life, state=EngineState.UNVERIFIED, verified=None, canary_factor=factor)


def asleep(life: Life) -> Life:
    """It computes nothing until it is woken; whatever was proven is not any more."""
    return replace(life, state=EngineState.ASLEEP, verified=None)


def awake(life: Life) -> Life:
    """The weights are where they were, if it had any. That they are the same is for the learner to prove."""
    state = EngineState.FAILED if life.loaded is None else EngineState.UNVERIFIED
    return replace(life, state=state, verified=None)


def failed(life: Life, error: str) -> Life:
    """Touching the weights went wrong: what the model computes with is unknown."""
    return replace(life, state=EngineState.FAILED, loaded=None, verified=None, error=error[:500])


def admitted(life: Life, boot_id: str, request: AdmitRequest) -> Life:
    """The learner's verdict on what is loaded.

    Raises Refused unless it speaks of this boot and of the loaded version, the loaded tensors are the policy's, the
    canary tensor has its loaded value, and the canary has passed at this boot.
    """
    check_control(life)
    if request.boot_id != boot_id:
        raise Refused(
            Code.BAD_REQUEST, f"the verdict is about boot {request.boot_id}, this is boot {boot_id}; prove this one"
        )
    if request.policy_version != life.loaded:
        raise Refused(
            Code.WRONG_POLICY,
            f"the verdict is about policy {request.policy_version}, loaded is {life.loaded}; load it and prove it",
            verified=life.verified,
        )
    if not life.genuine:
        raise Refused(Code.BAD_REQUEST, f"{life.error}; load a policy that is whole")
    if life.canary_factor != 1.0:
        scaled_by = f"the canary tensor is scaled by {life.canary_factor:g}"
        raise Refused(Code.BAD_REQUEST, f"{scaled_by}; restore it with factor 1")
    if not (life.canary_passed or request.canary_passed):
        raise Refused(Code.BAD_REQUEST, "the canary has not passed at this boot; run it before the verdict")
    return replace(life, state=EngineState.SERVING, verified=request.policy_version, canary_passed=True)


def check_serving(life: Life, policy_version: int) -> None:
    """Raise Refused unless generation by this policy version is allowed now."""
    if life.state is EngineState.UPDATING:
        raise Refused(Code.UPDATING, "weights are being replaced; ask again later or ask another engine")
    if life.state is EngineState.ASLEEP:
        raise Refused(Code.ASLEEP, "the learner uses the devices; ask again later")
    if life.state is EngineState.FAILED:
        raise Refused(Code.FAILED, f"the last load failed ({life.error}); this engine waits for another one")
    if life.state is not EngineState.SERVING:
        raise Refused(Code.NOT_SERVING, f"no policy is proven at this boot yet (state {life.state})")
    if life.verified != policy_version:
        asked = f"policy {policy_version} was asked for, proven is {life.verified}"
        raise Refused(Code.WRONG_POLICY, asked, verified=life.verified)


def check_started(life: Life) -> None:
    """Raise Refused while vLLM is starting or asleep: nothing can be loaded then."""
    if life.state is EngineState.STARTING:
        raise Refused(Code.NOT_SERVING, "vLLM is starting; ask again later")
    if life.state is EngineState.ASLEEP:
        raise Refused(Code.ASLEEP, "the engine is asleep; wake it first")


def check_control(life: Life) -> None:
    """Raise Refused unless the model can be asked something about its weights."""
    check_started(life)
    if life.state is EngineState.UPDATING:
        raise Refused(Code.UPDATING, "weights are being replaced; ask again later")
    if life.state is EngineState.FAILED:
        raise Refused(Code.FAILED, f"the last load failed ({life.error}); load a policy first")
