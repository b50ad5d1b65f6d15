"""A pool in the published form, read by its URI: each program loads as it is, is won in a cell, and passes the gate.

The programs of tests/data/programs/published are written as that pool's are: one file each, named by rollout, slot and
skill, with a line of docstring before the model's own text. Names and base classes that a program finds defined are
used without an import, helpers stand before and after the environment, and line ends and spaces are the writer's.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from tests.component.sandbox.programs import PROGRAMS
from tests.unit.trainer.byte_model import write_byte_model, write_weights
from tests.unit.trainer.fakes import scripted

from spade_contracts.config import MethodConfig, SandboxLimits, resolve
from spade_contracts.config.environments import Domain, PoolConfig
from spade_contracts.config.method import Profile
from spade_contracts.statuses import Outcome
from spade_contracts.tasks import DesignTask, RunRef
from spade_contracts.tool_calls import ToolCall, spelled
from spade_contracts.verdicts import Stage
from spade_sandbox.client import SandboxPool, SandboxSession
from spade_sandbox.verify.moves import Move
from spade_sandbox.verify.parse import check_source
from spade_sandbox.verify.playing import play
from spade_sandbox.verify.solutions import readings
from spade_sandbox.verify.trial import Program
from spade_trainer.chat import Chat
from spade_trainer.design.designer import Studio, design_slot
from spade_trainer.design.pool import read_pool
from spade_trainer.play.engine_client import EnginePool
from spade_trainer.play.episode import EpisodePlan, Table, play_episode
from spade_trainer.store.designs import Design
from spade_trainer.store.episodes import Episode
from spade_trainer.store.layout import environment_id
from spade_trainer.store.objects import Store, open_store
from spade_trainer.store.policies import finish
from spade_trainer.store.programs import read_with_digest
from spade_trainer.workers.figures import new_figures
from spade_trainer.workers.studio import gate_of, studio_of
from spade_trainer.workers.surroundings import Surroundings

LIMITS = SandboxLimits(step_seconds=60, load_seconds=60)
NAME = re.compile(r"(step_\d+/)?game_\d{5}_\d{3}_[a-z_]+\.py")
SEEDS = (0, 1, 12345, 2**31 - 1)
NONSENSE = Move("I would rather not.")


def published(domain: Domain) -> PoolConfig:
    """The pool of a domain, as a run names it."""
    uri = (PROGRAMS / "published" / domain.lower()).as_uri()
    return PoolConfig(uri=uri, sha256=read_with_digest(uri)[1])


POOL: Mapping[str, tuple[Domain, bytes]] = {
    program.name: (domain, program.content) for domain in Domain for program in read_pool(published(domain))
}
"""Domain and file of each program, by its name in its pool."""


def source_of(name: str) -> str:
    """The program's text as the gate takes it."""
    source = check_source(POOL[name][1], 100_000)
    assert isinstance(source, str), source
    return source


def test_the_pool_has_what_published_programs_have() -> None:
    assert all(NAME.fullmatch(name) for name in POOL)
    texts = {name: content.decode() for name, (_, content) in POOL.items()}
    assert {domain for domain, _ in POOL.values()} == set(Domain)
    assert all(re.match(r'"""Game \d+ of rollout \d+: [\w ]+\."""\r?\n', text) for text in texts.values())
    assert not [name for name, text in texts.items() if "```" in text or re.search(r"import.*ToolUseBaseEnv", text)]
    without_imports = [text for text in texts.values() if not re.search(r"^(from|import) ", text, re.MULTILINE)]
    assert any("random." in text and "class" in text for text in without_imports)
    assert any("np." in text for text in without_imports)
    assert any("\r\n" in text for text in texts.values())
    assert any("\n\t" in text for text in texts.values())


@pytest.mark.parametrize("name", POOL)
async def test_program_loads_unchanged_and_is_won_in_a_cell_from_every_seed(pool: SandboxPool, name: str) -> None:
    domain, content = POOL[name]
    source = source_of(name)
    assert source.encode() == content
    program = Program(source, pool, LIMITS, domain=domain)
    ways = set()
    async with program.session("play") as trial:
        for seed in SEEDS:
            lost = await play(trial, seed, [NONSENSE])
            assert not lost.won
            await trial.reset(seed)
            moves = readings(await trial.solution(), domain)[0].moves
            won = await play(trial, seed, moves)
            assert won.won, won.outcomes
            assert won.opening == lost.opening
            ways.add(moves)
    assert len(ways) > 1, "another seed is another instance"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Storage of a run whose policy nobody asks for anything."""
    store = open_store((tmp_path / "run").as_uri())
    write_weights(write_byte_model(tmp_path / "run/policies/0000"))
    finish(store, 0)
    return store


def method(profile: Profile, domain: Domain) -> MethodConfig:
    """A run that takes its environments from the published pool, all of them in each cycle."""
    pool = published(domain)
    size = sum(one is domain for one, _ in POOL.values())
    designer = {"source": "Pool", "pool": pool.model_dump()}
    environments = {"domain": domain, "per_cycle": size, "designer": designer}
    return resolve(profile, {"environments": environments, "play": {"hinted_plays": 0}, "limits": LIMITS.model_dump()})


@asynccontextmanager
async def studio(store: Store, config: MethodConfig, pool: SandboxPool) -> AsyncIterator[Studio]:
    """A design worker's studio of the first cycle, with its gate, and without engines."""
    run = RunRef(namespace="default", name="mini", uid="u", storage_uri=store.uri)
    task = DesignTask(
        run=run, cycle=0, policy_version=0, attempt=0, workers=1, engine_host="none.invalid", sandbox_host=""
    )
    gate = await gate_of(store, config, task, pool, None)
    async with (
        EnginePool("none.invalid", "") as engines,
        studio_of(
            task, Surroundings(), store, method=config, engines=engines, gate=gate, figures=new_figures()
        ) as opened,
    ):
        yield opened


@pytest.mark.parametrize("domain", Domain)
@pytest.mark.parametrize("profile", Profile)
async def test_cycle_of_the_pool_admits_every_program_as_it_is_and_each_is_played_to_its_end(
    pool: SandboxPool, store: Store, profile: Profile, domain: Domain
) -> None:
    config = method(profile, domain)
    designs: list[Design] = []
    async with studio(store, config, pool) as here:
        for slot in range(config.environments.per_cycle):
            designs += await design_slot(here, slot)
    verdicts = {design.document_id: (design.stage, design.reason, design.message) for design in designs}
    wanted = {name: content.decode() for name, (one, content) in POOL.items() if one is domain}
    assert verdicts == dict.fromkeys(wanted, (Stage.ACCEPTED.value, "", ""))
    assert {design.document_id: design.program for design in designs} == wanted
    for design in designs:
        episode = await played(config, pool, here.chat, design)
        assert (episode.outcome, episode.episode_return, episode.fault) == (Outcome.SCORED, 1.0, "")


async def played(config: MethodConfig, pool: SandboxPool, chat: Chat, design: Design) -> Episode:
    """An episode as a play worker plays it, by a player who says the program's own solution."""

    def opened(source: str) -> AbstractAsyncContextManager[SandboxSession]:
        return pool.session(source, config.limits, config.environments.domain, max_turns=config.play.max_turns)

    async with opened(design.program) as session:
        await session.reset(SEEDS[-1])
        moves = readings(await session.solution(), config.environments.domain)[0].moves
    words = iter(spelled(ToolCall(move.name, move.arguments)) if move.name else move.action for move in moves)
    table = Table(
        method=config,
        policy_version=0,
        chat=chat,
        generate=scripted(chat, lambda prompt, request: next(words)),
        open_session=opened,
    )
    plan = EpisodePlan(
        rollout=0,
        environment=environment_id(0, design.slot),
        slot=design.slot,
        play=0,
        source=design.program,
        hint=None,
        seed=SEEDS[-1],
    )
    return await play_episode(table, plan)
