"""The devices change hands only when every engine has done what it was told."""

import asyncio
from dataclasses import dataclass, field

import pytest

from spade_contracts.engine_api import SleepReport
from spade_contracts.statuses import EngineState, EngineStatus, EngineTarget
from spade_trainer.learner.neighbours import Neighbours, wait_for_first_sleep
from spade_trainer.weights.engine_client import EngineFault

ENGINES = tuple(EngineTarget(name=name, host=name) for name in ("first", "second"))


@dataclass
class Engine:
    """Answers an engine's client as a test wants."""

    host: str
    obeys: bool = True
    starting: int = 0
    """Looks at its status until it has started; the first finds nobody."""
    told: list[str] = field(default_factory=list)

    async def status(self) -> EngineStatus:
        self.starting -= 1
        if self.starting == 1:
            raise EngineFault("unreachable", "nobody there")
        state = EngineState.STARTING if self.starting >= 0 else EngineState.UNVERIFIED
        return EngineStatus(
            boot_id="b", state=state, loaded_policy_version=0, verified_policy_version=None, canary_passed=False,
            requests_in_flight=0, generated_tokens=0,
        )  # fmt: skip

    async def sleep(self) -> SleepReport:
        self.told.append("sleep")
        return SleepReport(boot_id="b", asleep=self.obeys, frees_memory=True)

    async def wake(self) -> SleepReport:
        self.told.append("wake")
        return SleepReport(boot_id="b", asleep=not self.obeys, frees_memory=True)


def test_all_engines_are_told() -> None:
    made = {engine.host: Engine(engine.host) for engine in ENGINES}
    neighbours = Neighbours(lambda session, host: made[host])
    neighbours.sleep(ENGINES)
    neighbours.wake(ENGINES)
    assert [engine.told for engine in made.values()] == [["sleep", "wake"]] * 2


@pytest.mark.parametrize("order", ["sleep", "wake"])
def test_one_that_does_not_obey_is_a_fault(order: str) -> None:
    made = {"first": Engine("first"), "second": Engine("second", obeys=False)}
    with pytest.raises(EngineFault, match="second was told to"):
        getattr(Neighbours(lambda session, host: made[host]), order)(ENGINES)


def test_a_pod_begins_with_its_engine_which_then_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spade_trainer.learner.neighbours.LOOK_SECONDS", 0)
    engine = Engine("127.0.0.1", starting=3)
    asyncio.run(wait_for_first_sleep(lambda session, host: engine))
    assert engine.starting < 0
    assert engine.told == ["sleep"]
