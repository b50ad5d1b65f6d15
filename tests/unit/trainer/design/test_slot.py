"""A slot is tried until the gate accepts; what was drawn is kept as drawn, and the hint never is trained."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trainer.builders import method
from tests.unit.trainer.byte_model import write_byte_model
from tests.unit.trainer.fakes import scripted

from spade_contracts.engine_api import GenerateRequest
from spade_contracts.errors import InvalidInput
from spade_contracts.verdicts import Exchange, Operation, Reason, Stage, Trace, accepted, rejected
from spade_sandbox.verify import Judgement
from spade_trainer.chat import Chat, load_chat
from spade_trainer.design.compose import compose_batch
from spade_trainer.design.corpus import Document
from spade_trainer.design.designer import GateUnavailable, Studio, design_slot
from spade_trainer.design.memory import Entry
from spade_trainer.design.prompt import MemoryExample
from spade_trainer.store.designs import read_program, write_designs
from spade_trainer.store.manifests import canonical_json
from spade_trainer.store.objects import open_store

DOCUMENTS = tuple(Document(str(number), f"Fact {number} of the corpus.", {}) for number in range(30))
SKILLS = ("Optimization", "Causal Inference")


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    return load_chat(write_byte_model(tmp_path_factory.mktemp("model")))


def is_hint(prompt: str) -> bool:
    return "hint" in prompt.split("<|im_end|>", maxsplit=1)[0]


def script(prompt: str, request: GenerateRequest) -> str:
    return "  Look left. " if is_hint(prompt) else f"```python\nclass G{request.seed}Env: pass\n```"


def judging(*verdicts: Any) -> Callable[[str, tuple[str, ...]], Any]:
    """A gate that gives these verdicts in turn."""
    left = list(verdicts)

    async def judge(answer: str, names: tuple[str, ...]) -> Judgement:
        verdict = left.pop(0)
        return Judgement(verdict, answer.split("\n")[1] + "\n" if "```" in answer else None)

    return judge


def studio(chat: Chat, judge: Any, **changes: Any) -> Studio:
    requests = changes.pop("requests", None)
    config = method(environments={"skills": SKILLS, "hints": {"attempts": 2}, **changes.pop("environments", {})})
    fields: dict[str, Any] = {
        "method": config,
        "cycle": 1,
        "policy_version": 2,
        "chat": chat,
        "generate": scripted(chat, changes.pop("script", script), requests),
        "judge": judge,
        "documents": DOCUMENTS,
        "memory": (),
        "show": lambda entry: MemoryExample(entry.file, entry.skill, "class OldEnv: ...", entry.win_rate, entry.regret),
    }
    return Studio(**{**fields, **changes})


TRACE = Trace(max_turns=3, exchanges=(Exchange(op=Operation.RESET, seed=1, answer="{}"),))
SYNTAX = rejected(Stage.PARSE, Reason.SYNTAX, "line 1", (TRACE,), {"M0": "passed", "cpu_seconds": 0.5})


async def test_a_slot_is_tried_with_new_documents_until_a_program_is_accepted(chat: Chat) -> None:
    requests: list[GenerateRequest] = []
    designs = await design_slot(studio(chat, judging(SYNTAX, SYNTAX, accepted()), requests=requests), 1)
    assert [d.accepted for d in designs] == [False, False, True]
    assert [d.attempt for d in designs] == [0, 1, 2]
    assert [(d.stage, d.reason) for d in designs[:1]] == [("parse", "syntax")]
    assert [Trace.model_validate(trace) for trace in json.loads(designs[0].evidence)] == [TRACE]
    assert json.loads(designs[0].facts) == {"M0": "passed"}
    assert len({d.document_id for d in designs}) > 1
    assert len({request.seed for request in requests}) == 4
    assert {d.skill for d in designs} == {SKILLS[1]}


async def test_a_slot_stays_empty_after_its_attempts(chat: Chat) -> None:
    designs = await design_slot(studio(chat, judging(*[SYNTAX] * 5)), 0)
    assert len(designs) == 5
    assert not any(d.accepted for d in designs)


async def test_prompt_and_answer_are_kept_as_they_were_drawn_and_only_the_answer_is_trained(chat: Chat) -> None:
    requests: list[GenerateRequest] = []
    (one,) = await design_slot(studio(chat, judging(accepted()), requests=requests), 0)
    t = one.trajectory
    assert t.token_ids[: t.prompt_tokens].tolist() == list(requests[0].token_ids)
    assert t.loss_mask.tolist() == [False] * t.prompt_tokens + [True] * (len(t.token_ids) - t.prompt_tokens)
    assert chat.tokenizer.decode(t.token_ids[t.loss_mask].tolist(), skip_special_tokens=False).endswith("<|im_end|>")
    assert t.spans == ((2, t.drawn_tokens),)
    assert f"Fact {one.document_id} of the corpus." in chat.tokenizer.decode(t.token_ids.tolist())


async def test_the_hint_has_no_end_token_and_is_counted_apart(chat: Chat) -> None:
    (one,) = await design_slot(studio(chat, judging(accepted())), 0)
    assert one.hint == "Look left."
    assert one.hint_tokens == len(chat.encode("  Look left. <|im_end|>"))


async def test_a_hint_is_asked_for_again_when_nothing_is_left_of_it(chat: Chat) -> None:
    requests: list[GenerateRequest] = []

    def empty_hints(prompt: str, request: GenerateRequest) -> str:
        return "  " if is_hint(prompt) else script(prompt, request)

    (one,) = await design_slot(studio(chat, judging(accepted()), script=empty_hints, requests=requests), 0)
    assert one.hint is None
    assert len(requests) == 3


async def test_sandboxes_that_fail_under_the_gate_are_no_verdict(chat: Chat) -> None:
    lost = rejected(Stage.CONTRACT, Reason.INFRASTRUCTURE, "no pods")
    with pytest.raises(GateUnavailable):
        await design_slot(studio(chat, judging(lost)), 0)


MEMORY = tuple(Entry(0, f"Old{i}Env", SKILLS[0], 0.5 if i else 0.0, 0.1) for i in range(3))


async def test_examples_of_the_memory_stand_in_the_prompt(chat: Chat) -> None:
    (one,) = await design_slot(studio(chat, judging(accepted()), memory=MEMORY), 0)
    prompt = chat.tokenizer.decode(one.trajectory.token_ids[: one.trajectory.prompt_tokens].tolist())
    assert "class OldEnv" in prompt
    assert "Old0Env" in prompt


async def test_examples_give_way_where_the_context_is_too_small(tmp_path: Path) -> None:
    compact = {"environments": {"designer": {"prompt_template": "Compact"}}, "memory": MEMORY}
    chat = load_chat(write_byte_model(tmp_path / "small", context_tokens=530))
    (one,) = await design_slot(studio(chat, judging(accepted()), **compact), 0)
    assert "OldEnv" not in chat.tokenizer.decode(one.trajectory.token_ids.tolist())
    assert len(one.trajectory.token_ids) <= 530
    tiny = load_chat(write_byte_model(tmp_path / "tiny", context_tokens=200))
    with pytest.raises(InvalidInput, match="Write Compact"):
        await design_slot(studio(tiny, judging(accepted()), **compact), 0)


async def test_a_slot_gives_the_same_designs_whenever_it_is_designed(chat: Chat) -> None:
    one, other = [await design_slot(studio(chat, judging(SYNTAX, accepted())), 0) for _ in range(2)]
    assert [d.trajectory.token_ids.tolist() for d in one] == [d.trajectory.token_ids.tolist() for d in other]
    assert [(d.document_id, d.program, d.hint) for d in one] == [(d.document_id, d.program, d.hint) for d in other]


CONFIG = method(environments={"per_cycle": 3, "verification": {"stages": ()}})


async def test_the_manifest_of_a_cycle_depends_on_its_designs_only(chat: Chat, tmp_path: Path) -> None:
    made = {
        0: await design_slot(studio(chat, judging(SYNTAX, accepted())), 0),
        1: await design_slot(studio(chat, judging(*[SYNTAX] * 5)), 1),
        2: await design_slot(studio(chat, judging(accepted())), 2),
    }
    contents = []
    for name, slots in (("one", (0, 1, 2)), ("other", (2, 0, 1))):
        store = open_store((tmp_path / name).as_uri())
        for slot in slots:
            write_designs(store, 1, slot, 0, made[slot])
        manifest, _ = compose_batch(store, CONFIG, 1, 2, ())
        contents.append(canonical_json(manifest))
        for environment in manifest.environments:
            assert read_program(store, 1, environment.file) == made[environment.slot][-1].program
    assert contents[0] == contents[1]
    assert [e.slot for e in manifest.environments] == [0, 2]
    assert (manifest.requested, manifest.attempts, manifest.rejected) == (3, 8, {"parse/syntax": 6})


async def test_a_cycle_with_a_missing_slot_has_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        compose_batch(open_store(tmp_path.as_uri()), CONFIG, 1, 2, ())
