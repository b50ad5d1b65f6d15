"""An episode keeps the tokens that were drawn, asks for no more than fits, and scores only what the program said."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.trainer.builders import method
from tests.unit.trainer.byte_model import CHATML, write_byte_model
from tests.unit.trainer.fakes import ScriptedSession, opening, program_crash, scripted, step

from spade_contracts.config.method import Profile
from spade_contracts.engine_api import GenerateRequest
from spade_contracts.errors import InfrastructureFault
from spade_contracts.statuses import Outcome
from spade_sandbox.client import StepResult
from spade_trainer.assembly import SampleRole
from spade_trainer.chat import Chat, load_chat
from spade_trainer.flaws import Flaw, unobserved
from spade_trainer.play.episode import SPARE_TOKENS, EpisodePlan, Table, lost_episode, play_episode
from spade_trainer.workers.figures import new_figures

WIN = step("You win.", 1.0, terminated=True)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    return load_chat(write_byte_model(tmp_path_factory.mktemp("model")))


def plan(hint: str | None = None, play: int = 0) -> EpisodePlan:
    return EpisodePlan(
        rollout=3, environment="c0001-s002", slot=2, play=play, source="class GameEnv: ...", hint=hint, seed=77
    )


def table(chat: Chat, session: ScriptedSession, *, text: str = r"I say \boxed{5}", **patch: Any) -> Table:
    requests = patch.pop("requests", None)
    profile = patch.pop("profile", Profile.CORRECTED)
    script = patch.pop("script", lambda prompt, request: text)
    observe = patch.pop("observe", unobserved)
    return Table(
        method=method(profile, **patch),
        policy_version=3,
        chat=chat,
        generate=scripted(chat, script, requests),
        open_session=opening(session),
        observe=observe,
    )


async def test_drawn_tokens_are_kept_and_observations_are_masked(chat: Chat) -> None:
    session = ScriptedSession([step("Too low."), WIN])
    requests: list[GenerateRequest] = []
    episode = await play_episode(table(chat, session, requests=requests), plan())
    t = episode.trajectory
    answer = chat.encode(r"I say \boxed{5}<|im_end|>")
    between = chat.next_turn("Too low.")
    assert list(requests[0].token_ids) == t.token_ids[: t.prompt_tokens].tolist()
    assert t.token_ids[t.prompt_tokens :].tolist() == [*answer, *between, *answer]
    expected = [False] * t.prompt_tokens + [True] * len(answer) + [False] * len(between) + [True] * len(answer)
    assert t.loss_mask.tolist() == expected
    assert (t.log_probs[t.loss_mask] < 0).all()
    assert (t.log_probs[~t.loss_mask] == 0).all()
    assert t.spans == ((3, 2 * len(answer)),)
    assert list(requests[1].token_ids) == t.token_ids[: -len(answer)].tolist()
    assert session.actions == [r"\boxed{5}", r"\boxed{5}"]
    assert session.seeds == [77]
    assert (episode.outcome, episode.episode_return, episode.turns) == (Outcome.SCORED, 1.0, 2)
    assert episode.prefix_check == "exact"


async def test_each_turn_and_play_and_arm_draws_with_its_own_seed(chat: Chat) -> None:
    requests: list[GenerateRequest] = []
    for one in (plan(), plan(play=1), plan(hint="low"), plan(hint="low", play=1)):
        session = ScriptedSession([step("Too low."), WIN])
        await play_episode(table(chat, session, requests=requests), one)
    assert len({request.seed for request in requests}) == 8


async def test_the_same_plan_gives_the_same_tokens(chat: Chat) -> None:
    one, two = [await play_episode(table(chat, ScriptedSession([step("Too low."), WIN])), plan()) for _ in range(2)]
    assert one.trajectory.token_ids.tolist() == two.trajectory.token_ids.tolist()
    assert one.trajectory.log_probs.tolist() == two.trajectory.log_probs.tolist()


async def test_the_hint_stands_in_the_first_message_only_of_hinted_plays(chat: Chat) -> None:
    prompts: list[str] = []

    def script(prompt: str, request: GenerateRequest) -> str:
        prompts.append(prompt)
        return r"\boxed{5}"

    for hint in (None, "It is below nine."):
        await play_episode(table(chat, ScriptedSession([step("No."), WIN]), script=script), plan(hint))
    assert [prompt.count("It is below nine.") for prompt in prompts] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("steps", "outcome", "value"),
    [
        ([WIN], Outcome.SCORED, 1.0),
        ([step("Lost.", 0.3, terminated=True)], Outcome.SCORED, 0.3),
        ([step("Time is up.", 0.3, truncated=True)], Outcome.TRUNCATED, 0.0),
        ([step("Hm.", 0.3)] * 25, Outcome.TRUNCATED, 0.0),
        ([step("Hm.", 0.9), program_crash()], Outcome.ENVIRONMENT_FAULT, None),
        ([step("Traceback (most recent call last): ...", 1.0, terminated=True)], Outcome.ENVIRONMENT_FAULT, None),
    ],
)
async def test_how_an_episode_ends(
    chat: Chat, steps: list[StepResult | Exception], outcome: Outcome, value: float | None
) -> None:
    episode = await play_episode(table(chat, ScriptedSession(steps)), plan())
    assert (episode.outcome, episode.episode_return) == (outcome, value)
    assert bool(episode.verifier_failures) == (outcome is Outcome.ENVIRONMENT_FAULT)


async def test_a_fault_is_named_with_the_operation_that_it_ended(chat: Chat) -> None:
    at_reset = await play_episode(table(chat, ScriptedSession([], reset_fault=program_crash())), plan())
    at_step = await play_episode(table(chat, ScriptedSession([program_crash()])), plan())
    assert (at_reset.fault, at_step.fault) == ("crash/reset", "crash/step")
    assert at_reset.trajectory.drawn_tokens == 0
    assert at_step.verifier_failures == ("crash",)


async def test_paper_lets_the_player_pay_for_a_crash(chat: Chat) -> None:
    session = ScriptedSession([step("Hm."), program_crash()])
    episode = await play_episode(table(chat, session, profile=Profile.PAPER), plan())
    assert episode.episode_return == -1.0


async def test_paper_scores_a_win_with_an_error_but_counts_it(chat: Chat) -> None:
    session = ScriptedSession([step("Traceback (most recent call last): ...", 1.0, terminated=True)])
    episode = await play_episode(table(chat, session, profile=Profile.PAPER), plan())
    assert (episode.outcome, episode.episode_return) == (Outcome.SCORED, 1.0)
    assert episode.verifier_failures == ("success_with_error",)


async def test_a_lost_sandbox_is_no_result(chat: Chat) -> None:
    session = ScriptedSession([step("Hm."), InfrastructureFault("the pod is gone")])
    with pytest.raises(InfrastructureFault):
        await play_episode(table(chat, session), plan())
    lost = lost_episode(plan(), attempts=3)
    assert (lost.outcome, lost.episode_return, lost.attempts) == (Outcome.INFRASTRUCTURE_FAULT, None, 3)


async def test_an_episode_stays_within_its_context_and_is_truncated_there(chat: Chat) -> None:
    requests: list[GenerateRequest] = []
    session = ScriptedSession([step("word " * 30)] * 25)
    episode = await play_episode(table(chat, session, requests=requests, play={"context_tokens": 900}), plan())
    assert episode.outcome is Outcome.TRUNCATED
    assert 1 < len(requests) < 25
    for request in requests:
        assert len(request.token_ids) + request.max_new_tokens <= 900 - SPARE_TOKENS
    assert len(episode.trajectory.token_ids) <= 900 - SPARE_TOKENS
    assert episode.trajectory.loss_mask[-1]


async def test_a_turn_that_does_not_end_is_kept_but_not_acted_on(chat: Chat) -> None:
    session = ScriptedSession([WIN])
    sampling = {"sampling": {"max_new_tokens": 5}}
    figures = new_figures()
    observe = partial(figures.answer_flawed, SampleRole.PLAYER)
    episode = await play_episode(table(chat, session, play=sampling, observe=observe), plan())
    assert (episode.outcome, episode.episode_return, session.actions) == (Outcome.TRUNCATED, 0.0, [])
    unended: dict[str, str] = {"role": SampleRole.PLAYER, "flaw": Flaw.UNENDED}
    assert figures.registry.get_sample_value("spade_worker_flawed_answers_total", unended) == 1
    assert episode.trajectory.drawn_tokens == 5
    assert episode.prefix_check == "exact"


async def test_an_observation_that_fills_the_context_ends_the_episode_before_anything_is_drawn(chat: Chat) -> None:
    session = ScriptedSession([WIN], first="word " * 2000)
    episode = await play_episode(table(chat, session), plan())
    assert (episode.outcome, episode.trajectory.drawn_tokens, episode.prefix_check) == (Outcome.TRUNCATED, 0, "none")


async def test_words_that_the_tokenizer_would_split_otherwise_are_kept_as_drawn(chat: Chat) -> None:
    generate = scripted(chat, lambda prompt, request: "x")

    async def split(request: GenerateRequest, timeout_seconds: float) -> Any:
        drawn = await generate(request, timeout_seconds)
        letters = [chat.tokenizer.token_to_id(letter) for letter in "the"]
        return drawn.model_copy(
            update={
                "token_ids": (*letters, drawn.token_ids[-1]),
                "log_probs": (-1.0,) * 4,
                "spans": (drawn.spans[0].model_copy(update={"tokens": 4}),),
            }
        )

    assert len(chat.encode("the")) == 1
    session = ScriptedSession([WIN])
    episode = await play_episode(
        Table(method=method(), policy_version=3, chat=chat, generate=split, open_session=opening(session)), plan()
    )
    assert episode.prefix_check == "reencoded"
    assert session.actions == ["the"]
    assert episode.trajectory.drawn_tokens == 4


async def test_a_template_that_rewrites_earlier_turns_is_recorded(tmp_path: Path) -> None:
    stripping = CHATML.replace("{{ message['content'] }}", "{{ message['content'].split('</think>')[-1] }}")
    chat = load_chat(write_byte_model(tmp_path, template=stripping))
    session = ScriptedSession([step("No."), WIN])
    episode = await play_episode(table(chat, session, text=r"<think>hm</think>\boxed{5}"), plan())
    assert episode.prefix_check == "diverged"
    assert "hm" in chat.tokenizer.decode(episode.trajectory.token_ids.tolist())
    assert np.count_nonzero(episode.trajectory.loss_mask) == episode.trajectory.drawn_tokens
