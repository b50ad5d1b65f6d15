"""One slot of a cycle: document and examples → prompt → answer → gate → hint, until a program is accepted."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from spade_contracts.config import MethodConfig
from spade_contracts.config.sampling import Thinking
from spade_contracts.config.switches import DesignerThinking, HintEnding
from spade_contracts.engine_api import GenerateRequest, GenerateResponse
from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_contracts.verdicts import Reason
from spade_sandbox.verify import Judgement
from spade_trainer.chat import Chat, spoken
from spade_trainer.design.corpus import Document, draw_document, shortened
from spade_trainer.design.draws import keyed
from spade_trainer.design.hints import Hint, HintPlace, write_hint
from spade_trainer.design.memory import Entry, Examples, draw_examples
from spade_trainer.design.prompt import MemoryExample, designer_messages, load_design_template
from spade_trainer.design.rotation import skill_of
from spade_trainer.design.skills import game_skill
from spade_trainer.play.episode import SPARE_TOKENS, Generate
from spade_trainer.play.tokens import add_drawn, begin, finish
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.store.designs import Design, evidence_text, facts_text

Judge = Callable[[str, tuple[str, ...]], Awaitable[Judgement]]
"""A designer's answer, and names that would give its document away → the gate's word on it."""


class GateUnavailable(InfrastructureFault):
    """Sandboxes failed under the gate, so a program could not be judged. Temporary: the slot is designed again."""


@dataclass(frozen=True)
class Studio:
    """Where a cycle is designed: all that its slots share."""

    method: MethodConfig
    cycle: int
    policy_version: int
    chat: Chat
    generate: Generate
    judge: Judge
    documents: tuple[Document, ...]
    memory: tuple[Entry, ...]
    show: Callable[[Entry], MemoryExample]
    """An entry as a prompt shows it."""


async def design_slot(studio: Studio, slot: int) -> tuple[Design, ...]:
    """All tries of one slot, the accepted one last if there is one.

    Raises InfrastructureFault if engines or sandboxes fail: nothing is known of the slot then. Raises InvalidInput if
    a prompt does not fit the model's context.
    """
    designs: list[Design] = []
    for attempt in range(studio.method.environments.designer.attempts):
        design = await _attempt(studio, slot, attempt)
        designs.append(design)
        if design.accepted:
            break
    return tuple(designs)


async def _attempt(studio: Studio, slot: int, attempt: int) -> Design:
    """One try: a new document, new examples, a new answer."""
    settings = studio.method.environments
    place = (studio.cycle, slot, attempt)
    document = draw_document(studio.documents, keyed(studio.method.seed, Purpose.CORPUS, *place))
    skill = skill_of(settings.skills, studio.cycle, settings.active_skills, slot)
    examples = draw_examples(studio.memory, skill, settings.memory, keyed(studio.method.seed, Purpose.MEMORY, *place))
    prompt = design_prompt(studio, skill, document, examples)
    drawn = await _answer(studio, prompt, place)
    transcript = begin(prompt)
    add_drawn(transcript, drawn)
    answer = studio.chat.decode(drawn.token_ids)
    thought = designer_thinking(studio.method) is Thinking.ON
    judged = await studio.judge(spoken(answer) if thought else answer, document.names)
    verdict = judged.verdict
    if verdict.reason is Reason.INFRASTRUCTURE:
        raise GateUnavailable(verdict.message)
    program = judged.source or ""
    hint = await _hint(studio, program, place) if verdict.accepted else Hint(None, 0)
    return Design(
        cycle=studio.cycle,
        slot=slot,
        attempt=attempt,
        skill=skill,
        document_id=document.id,
        trajectory=finish(transcript),
        program=program,
        stage=verdict.stage.value,
        reason=verdict.reason.value if verdict.reason else "",
        message=verdict.message,
        evidence=evidence_text(verdict.evidence),
        facts=facts_text(verdict.facts),
        hint=hint.text,
        hint_tokens=hint.tokens,
    )


def designer_thinking(method: MethodConfig) -> Thinking:
    """Whether the designer thinks; the reference's never does when it is shown a document (D5)."""
    as_set = method.switches.designer_thinking is DesignerThinking.AS_SET
    return method.environments.designer.thinking if as_set else Thinking.OFF


def design_prompt(studio: Studio, skill: str, document: Document, examples: Examples) -> Sequence[int]:
    """Token ids of the request for one program. Examples are left out if the model's context has no room for them.

    Raises InvalidInput if there is no room even without them.
    """
    settings = studio.method.environments
    template = load_design_template(f"games_{settings.designer.prompt_template.value.lower()}")
    positives = [studio.show(entry) for entry in examples.positives]
    negative = studio.show(examples.negatives[0]) if examples.negatives else None
    for shown, avoided in ((positives, negative), ([], None)):
        messages = designer_messages(
            template,
            skill,
            game_skill(skill).description,
            settings.difficulty.value,
            shortened(document.text, settings.corpus.max_words),
            shown,
            avoided,
        )
        prompt = studio.chat.prompt(messages, thinking=designer_thinking(studio.method))
        if len(prompt) + SPARE_TOKENS < studio.chat.context_tokens:
            return prompt
    raise InvalidInput(
        "environments.corpus.maxWords",
        f"document {document.id} fills the model's context of {studio.chat.context_tokens} tokens",
        remedy="Lower it.",
    )


async def _answer(studio: Studio, prompt: Sequence[int], place: tuple[int, int, int]) -> GenerateResponse:
    """The designer's answer."""
    designer = studio.method.environments.designer
    return await studio.generate(
        GenerateRequest(
            token_ids=tuple(prompt),
            temperature=designer.sampling.temperature,
            top_p=designer.sampling.top_p,
            top_k=designer.sampling.top_k,
            max_new_tokens=min(designer.sampling.max_new_tokens, studio.chat.context_tokens - len(prompt)),
            seed=seed_for(studio.method.seed, Purpose.DESIGN, *place),
            policy_version=studio.policy_version,
        ),
        designer.generation_timeout_seconds,
    )


def _keeps_end(method: MethodConfig) -> bool:
    """Whether hints keep their end token: the reference strips it only where it thinks (D1)."""
    kept = method.switches.hint_ending is HintEnding.KEPT
    return kept and method.environments.designer.thinking is Thinking.OFF


async def _hint(studio: Studio, program: str, place: tuple[int, int, int]) -> Hint:
    """A hint for an accepted program."""
    settings = studio.method.environments
    return await write_hint(
        HintPlace(
            run_seed=studio.method.seed,
            settings=settings.hints,
            template=f"hint_{settings.designer.prompt_template.value.lower()}",
            policy_version=studio.policy_version,
            timeout_seconds=settings.designer.generation_timeout_seconds,
            chat=studio.chat,
            generate=studio.generate,
            keep_end=_keeps_end(studio.method),
        ),
        program,
        *place,
    )
