"""What a play worker itself costs for each turn of an episode: tests/bench/results/worker_overhead.json.

    python -m tests.bench.worker_overhead [--tokenizer FILE]

Chat template and tokenizer are those of Qwen3-30B-A3B-Instruct-2507; of the tokenizer the repository holds a part, in
which a word has more tokens. With the whole one (tests/data/tokenizers/README.md) as FILE, an episode of as many tokens
has more words to look at.

One worker process has 512 episodes under way. Engine and sandboxes are scripted and answer within the process, after
a moment in which others go on: their requests and answers pass through the client's own spelling and checks, and
nothing else of them is there. What is left is the worker's: prompts, tokens, seeds, actions, the check of the whole
conversation, and the part file of each environment.
"""

import argparse
import asyncio
import random
import resource
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from pathlib import Path

from tests.bench.record import Figure, at_most, measured, write
from tests.unit.trainer.builders import run_manifest
from tests.unit.trainer.byte_model import REAL_TOKENIZER, real_template, write_real_model

from spade_contracts.config import resolve
from spade_contracts.config.method import Profile
from spade_contracts.engine_api import FinishReason, GenerateRequest, GenerateResponse, VersionSpan
from spade_contracts.manifests import EnvironmentEntry
from spade_sandbox.client import CallResult, StepResult, Tool
from spade_trainer.chat import Chat, load_chat
from spade_trainer.play.engine_client import checked_answer, request_body
from spade_trainer.play.episode import EpisodePlan, Table, play_episode
from spade_trainer.play.plan import GroupPlan, plan_group
from spade_trainer.play.scheduler import play_groups
from spade_trainer.store.episodes import Episode, write_episodes
from spade_trainer.store.layout import environment_id
from spade_trainer.store.objects import open_store
from spade_trainer.workers.figures import new_figures
from spade_trainer.workers.main import rest_collector

DOCS = Path(__file__).parents[2] / "docs"
CONCURRENCY, ENVIRONMENTS, PLAYS = 512, 32, 16
CONTEXT_TOKENS = 32_768
ROUNDS = 3
BOUND_MS = 2.0
OBSERVATION = "The lamp in the hall is lit; two doors lead north and east. You may go, look, take or wait. " * 2


@dataclass(frozen=True)
class Shape:
    """Episodes of one length."""

    name: str
    turns: int
    reply_tokens: int
    profile: Profile


SHAPES = tuple(
    Shape(f"{profile.value}, 12 turns of {tokens} tokens", 12, tokens, profile)
    for profile in Profile
    for tokens in (100, 400, 1300)
)
"""The template spells Corrected's conversations as they were drawn, and Paper's otherwise from the first answer on."""


@dataclass
class ScriptedEnvironment:
    """A program that goes on for so many steps and is then won."""

    turns: int
    taken: int = 0

    async def reset(self, seed: int | None) -> str:
        """Begin."""
        await asyncio.sleep(0)
        return OBSERVATION

    async def step(self, action: str) -> StepResult:
        """One more step."""
        await asyncio.sleep(0)
        self.taken += 1
        won = self.taken == self.turns
        return StepResult(f"Step {self.taken}. {OBSERVATION}", float(won), won, False, {})

    async def tools(self) -> tuple[Tool, ...]:
        """A game has none."""
        return ()

    async def call(self, name: str, arguments: str) -> CallResult:
        """A game has nothing to call."""
        raise AssertionError(name)


def prose(chat: Chat, tokens: int, number: int) -> list[int]:
    """A reply of so many tokens or a few less: words of this project's pages, in an order of its own."""
    words = sorted({word for page in DOCS.glob("*.md") for word in page.read_text().split()})
    random.Random(number).shuffle(words)
    end = f" So I answer \\boxed{{go {number}}}<|im_end|>"
    sizes = accumulate((len(chat.encode(f" {word}")) for word in words), initial=len(chat.encode(end)))
    most = sum(1 for _ in takewhile(lambda size: size <= tokens, sizes)) - 1
    return chat.encode(" ".join(words[:most]) + end)


def answers(chat: Chat, tokens: int) -> list[bytes]:
    """Replies of so many tokens as an engine sends them; different ones, so that none is repeated at once."""
    found = []
    for number in range(8):
        drawn = prose(chat, tokens, number)
        response = GenerateResponse(
            token_ids=tuple(drawn),
            log_probs=tuple(-0.3712 - (i % 97) / 1000 for i in range(len(drawn))),
            finish_reason=FinishReason.STOP,
            spans=(VersionSpan(policy_version=0, tokens=len(drawn)),),
            boot_id="scripted",
        )
        found.append(response.model_dump_json().encode())
    return found


def table(chat: Chat, shape: Shape) -> Table:
    """The worker's table with a scripted engine and scripted sandboxes."""
    replies = answers(chat, shape.reply_tokens)

    async def generate(request: GenerateRequest, timeout_seconds: float) -> GenerateResponse:
        assert len(request_body(request)) > len(request.token_ids)
        await asyncio.sleep(0)
        return checked_answer("scripted", replies[request.seed % len(replies)], request)

    @asynccontextmanager
    async def open_session(source: str) -> AsyncIterator[ScriptedEnvironment]:
        await asyncio.sleep(0)
        yield ScriptedEnvironment(shape.turns)

    play = {"plays_per_environment": PLAYS, "hinted_plays": 0, "context_tokens": CONTEXT_TOKENS}
    method = resolve(shape.profile, {"environments": {"per_cycle": ENVIRONMENTS}, "play": play})
    return Table(method, 0, chat, generate, open_session)


def environments(around: Table) -> list[GroupPlan]:
    """The plan of a rollout."""
    entries = [
        EnvironmentEntry(
            id=environment_id(0, slot),
            slot=slot,
            attempt=0,
            skill="A",
            file="",
            sha256="",
            document_id="",
            hint=None,
        )
        for slot in range(ENVIRONMENTS)
    ]
    method = run_manifest(around.method).method
    return [plan_group(method, 0, entry, "class GameEnv: pass", environments=ENVIRONMENTS) for entry in entries]


async def played(around: Table, uri: str) -> list[Episode]:
    """All episodes of the plan, their parts written as a worker writes them."""
    store, figures, done = open_store(uri), new_figures(), []

    async def one(plan: EpisodePlan) -> Episode:
        return await play_episode(around, plan)

    def finished(plan: GroupPlan, episodes: list[Episode]) -> None:
        write_episodes(store, 0, plan.slot, 0, episodes)
        done.extend(episodes)

    groups = environments(around)
    await play_groups(
        groups, one, attempts=1, finished=finished, observed=figures.episode_ended, concurrency=CONCURRENCY
    )
    return done


def measure(shape: Shape, chat: Chat) -> list[Figure]:
    """Some rollouts of this shape."""
    taken = []
    for _ in range(ROUNDS):
        around = table(chat, shape)
        with tempfile.TemporaryDirectory(prefix="spade-worker-") as folder:
            started = time.process_time()
            episodes = asyncio.run(played(around, Path(folder).as_uri()))
            cpu = time.process_time() - started
        turns = sum(episode.turns for episode in episodes)
        assert len(episodes) == ENVIRONMENTS * PLAYS
        assert turns == len(episodes) * shape.turns, {episode.outcome for episode in episodes}
        tokens = sum(len(episode.trajectory.token_ids) for episode in episodes) / len(episodes)
        taken.append(1000 * cpu / turns)
    return [
        at_most(f"{shape.name}: processor time of one turn, median", statistics.median(taken), "ms", BOUND_MS),
        measured(f"{shape.name}: tokens of an episode, mean", tokens, "tokens"),
    ]


def load_qwen3(tokenizer: Path) -> Chat:
    """Its template and a tokenizer file of its kind."""
    with tempfile.TemporaryDirectory(prefix="spade-worker-") as folder:
        model = write_real_model(Path(folder), template=real_template("qwen3_instruct_2507"), tokenizer=tokenizer)
        return replace(load_chat(model), context_tokens=CONTEXT_TOKENS)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, default=REAL_TOKENIZER, help="a tokenizer.json of Qwen3")
    tokenizer = parser.parse_args().tokenizer
    chat = load_qwen3(tokenizer)
    rest_collector()
    figures = [figure for shape in SHAPES for figure in measure(shape, chat)]
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    note = (
        f"{ROUNDS} rounds; {CONCURRENCY} episodes at once of {ENVIRONMENTS} environments, {PLAYS} each; prompts, "
        "answers and part files are spelt and checked as with real engines and storage, and counted. "
        f"Qwen3's tokenizer with {chat.tokenizer.get_vocab_size()} of its 151669 tokens."
    )
    figures.append(measured("most memory of the process", peak_gib, "GiB"))
    command = "python -m tests.bench.worker_overhead" + " --tokenizer FILE" * (tokenizer != REAL_TOKENIZER)
    print(write("worker_overhead", command, figures, note=note).read_text())


if __name__ == "__main__":
    main()
