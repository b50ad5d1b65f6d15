"""One slot of a cycle: document and examples → prompt → answer → gate → hint, until a program is accepted.

The answer is the policy's or an endpoint's; of a fixed pool, the slot's program takes the place of all before the gate.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from spade_contracts.config import MethodConfig
from spade_contracts.config.sampling import Thinking
from spade_contracts.config.switches import DesignerThinking, HintEnding
from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_contracts.verdicts import Reason
from spade_sandbox.verify import Judgement
from spade_trainer.chat import Chat, spoken
from spade_trainer.design.corpus import Cut, Document, Documents, draw_document, shortened, shortened_to_tokens
from spade_trainer.design.draws import keyed
from spade_trainer.design.endpoint import Ask
from spade_trainer.design.hints import Hint, HintPlace, write_hint
from spade_trainer.design.memory import Entry, Examples, draw_examples
from spade_trainer.design.pool import UNKNOWN_SKILL, pool_draws
from spade_trainer.design.prompt import ChatMessage, MemoryExample
from spade_trainer.design.request import Place, hint_template_name, request_messages
from spade_trainer.design.rotation import skill_of
from spade_trainer.design.writing import Policy, Written, by_endpoint, by_policy, no_tokens
from spade_trainer.flaws import ObserveFlaw, unobserved
from spade_trainer.play.episode import SPARE_TOKENS, Generate
from spade_trainer.randomness import Purpose, seed_for
from spade_trainer.store.designs import NO_USAGE, Design, evidence_text, facts_text
from spade_trainer.store.programs import ProgramFile

Judge = Callable[[str, tuple[str, ...]], Awaitable[Judgement]]
"""A designer's answer, and names that would give its document away → the gate's word on it."""
JudgeProgram = Callable[[bytes], Awaitable[Judgement]]
"""A program's file → the gate's word on it."""


class GateUnavailable(InfrastructureFault):
    """Sandboxes failed under the gate, so a program could not be judged. Temporary: the slot is designed again."""


@dataclass(frozen=True)
class PoolPrograms:
    """A fixed pool in place of a designer."""

    programs: tuple[ProgramFile, ...]
    judge: JudgeProgram


@dataclass(frozen=True)
class Studio:
    """Where a cycle is designed: all that its slots share."""

    method: MethodConfig
    cycle: int
    policy_version: int
    chat: Chat
    generate: Generate
    judge: Judge
    documents: Documents
    """Empty: the designer gets no document."""
    memory: tuple[Entry, ...]
    show: Callable[[Entry], MemoryExample]
    """An entry as a prompt shows it."""
    designer: Ask | None = None
    """Who answers in place of the policy."""
    hinter: Ask | None = None
    """Who writes hints in place of the policy."""
    pool: PoolPrograms | None = None
    """Programs in place of answers."""
    first_attempt: int = 0
    """Tries that each slot may have had before: in attempts of the Job that came to nothing, and for earlier rollouts
    of the cycle."""
    topped_up: tuple[int, ...] = ()
    """The slots that a top-up fills, ascending; empty: all of the cycle are designed."""
    observe_flaw: ObserveFlaw = unobserved
    """Told of each flaw of the policy's answers and hints."""
    observe_cut: Callable[[Cut], None] = unobserved
    """Told of each document that a request holds only the beginning of."""

    @property
    def policy(self) -> Policy:
        """The policy as a writer."""
        return Policy(self.chat, self.generate, self.policy_version, self.observe_flaw)


async def design_slot(studio: Studio, slot: int) -> tuple[Design, ...]:
    """All tries of one slot, the accepted one last if there is one. A slot that a small pool has no program for is
    empty.

    Raises InfrastructureFault if engines, endpoints or sandboxes fail: nothing is known of the slot then. Raises
    InvalidInput if a prompt does not fit the model's context even with a short document, or an endpoint refuses.
    """
    if studio.pool is not None:
        return await _from_pool(studio, studio.pool, slot)
    designs: list[Design] = []
    for attempt in range(studio.method.environments.designer.attempts):
        design = await _attempt(studio, slot, studio.first_attempt + attempt)
        designs.append(design)
        if design.accepted:
            break
    return tuple(designs)


async def _from_pool(studio: Studio, pool: PoolPrograms, slot: int) -> tuple[Design, ...]:
    """The program that the pool gives a slot, judged once."""
    per_cycle = studio.method.environments.per_cycle
    drawn = pool_draws(studio.method.seed, len(pool.programs), per_cycle, studio.cycle)
    if slot >= len(drawn):
        return ()
    program = pool.programs[drawn[slot]]
    judged = await pool.judge(program.content)
    written = Written("", no_tokens(), NO_USAGE, 0)
    return (await _judged(studio, (studio.cycle, slot, 0), UNKNOWN_SKILL, program.name, written, judged),)


async def _attempt(studio: Studio, slot: int, attempt: int) -> Design:
    """One try: a new document, new examples, a new answer."""
    settings = studio.method.environments
    place = (studio.cycle, slot, attempt)
    document = await _document(studio, place)
    # A top-up counts its programs anew, as the reference does.
    number = studio.topped_up.index(slot) if studio.topped_up else slot
    skill = skill_of(settings.skills, studio.cycle, settings.active_skills, number)
    examples = draw_examples(studio.memory, skill, settings.memory, keyed(studio.method.seed, Purpose.MEMORY, *place))
    written = await _written(studio, place, skill, document, examples)
    thought = studio.designer is None and designer_thinking(studio.method) is Thinking.ON
    answer = spoken(written.text) if thought else written.text
    judged = await studio.judge(answer, document.names if document is not None else ())
    document_id = document.id if document is not None else ""
    return await _judged(studio, place, skill, document_id, written, judged)


async def _document(studio: Studio, place: Place) -> Document | None:
    """The document of a try; reading it may take a while."""
    if not studio.documents:
        return None
    choose = keyed(studio.method.seed, Purpose.CORPUS, *place)
    return await asyncio.to_thread(draw_document, studio.documents, choose)


async def _written(studio: Studio, place: Place, skill: str, document: Document | None, examples: Examples) -> Written:
    """The answer to the request of one try."""
    designer = studio.method.environments.designer
    if studio.designer is not None:
        text = _cut(studio, document)
        return await by_endpoint(studio.designer, _messages(studio, place, skill, text, examples), designer.sampling)
    prompt = design_prompt(studio, place, skill, document, examples)
    seed = seed_for(studio.method.seed, Purpose.DESIGN, *place)
    timeout = designer.generation_timeout_seconds
    return await by_policy(studio.policy, prompt, designer.sampling, seed=seed, timeout_seconds=timeout)


def designer_thinking(method: MethodConfig) -> Thinking:
    """Whether the designer thinks; the reference's never does when it is shown a document (D5)."""
    shown = bool(method.environments.corpus.uri)
    as_set = method.switches.designer_thinking is DesignerThinking.AS_SET or not shown
    return method.environments.designer.thinking if as_set else Thinking.OFF


def _keeps_end(method: MethodConfig) -> bool:
    """Whether hints keep their end token: the reference strips it only where it thinks (D1)."""
    kept = method.switches.hint_ending is HintEnding.KEPT
    return kept and method.environments.designer.thinking is Thinking.OFF


def design_prompt(
    studio: Studio, place: Place, skill: str, document: Document | None, examples: Examples
) -> Sequence[int]:
    """Token ids of the request for one program. Where the model's context has no room for all of it, examples are left
    out, and then the document is cut to half, again and again.

    Raises InvalidInput if there is no room even for one word of it.
    """
    text = _cut(studio, document)
    tries: list[tuple[str | None, Examples]] = [(text, examples), (text, Examples((), ()))]
    words = len((text or "").split())
    while words > 1:
        words //= 2
        tries.append((shortened(text or "", words), Examples((), ())))
    needed = 0
    for shown, remembered in tries:
        messages = _messages(studio, place, skill, shown, remembered)
        prompt = studio.chat.prompt(messages, thinking=designer_thinking(studio.method))
        needed = len(prompt) + SPARE_TOKENS
        if needed < studio.chat.context_tokens:
            if shown != text:
                studio.observe_cut(Cut.CONTEXT)
            return prompt
    raise InvalidInput(
        "environments.designer.promptTemplate",
        f"a designer's request needs {needed} tokens even with one word of a document, and the model reads at most "
        f"{studio.chat.context_tokens}",
        remedy="Write Compact, or take a model that reads more.",
    )


def _cut(studio: Studio, document: Document | None) -> str | None:
    """The document's text within the corpus' limits of words and tokens."""
    if document is None:
        return None
    limits = studio.method.environments.corpus
    text = shortened(document.text, limits.max_words)
    if text != document.text:
        studio.observe_cut(Cut.WORDS)
    if not limits.max_tokens:
        return text
    kept = shortened_to_tokens(text, limits.max_tokens, lambda part: len(studio.chat.encode(part)))
    if kept != text:
        studio.observe_cut(Cut.TOKENS)
    return kept


def _messages(studio: Studio, place: Place, skill: str, text: str | None, examples: Examples) -> list[ChatMessage]:
    positives = [studio.show(entry) for entry in examples.positives]
    negative = studio.show(examples.negatives[0]) if examples.negatives else None
    return request_messages(studio.method, place, skill, text, positives, negative)


async def _judged(  # noqa: PLR0917
    studio: Studio, place: Place, skill: str, document_id: str, written: Written, judged: Judgement
) -> Design:
    """The record of a try, with a hint if its program was accepted. Raises GateUnavailable."""
    verdict = judged.verdict
    if verdict.reason is Reason.INFRASTRUCTURE:
        raise GateUnavailable(verdict.message)
    program = judged.source or ""
    hint = await _hint(studio, program, place) if verdict.accepted else Hint(None, 0)
    cycle, slot, attempt = place
    return Design(
        cycle=cycle,
        slot=slot,
        attempt=attempt,
        skill=skill,
        document_id=document_id,
        trajectory=written.trajectory,
        program=program,
        stage=verdict.stage.value,
        reason=verdict.reason.value if verdict.reason else "",
        message=verdict.message,
        evidence=evidence_text(verdict.evidence),
        facts=facts_text(verdict.facts),
        hint=hint.text,
        hint_tokens=hint.tokens,
        answer="" if written.tokens else written.text,
        usage=written.usage + hint.usage,
    )


async def _hint(studio: Studio, program: str, place: Place) -> Hint:
    """A hint for an accepted program; none where no hinted play would use it (method.md §1.2, §10)."""
    if not studio.method.play.hinted_plays or studio.topped_up:
        return Hint(None, 0)
    settings = studio.method.environments
    there = HintPlace(
        run_seed=studio.method.seed,
        settings=settings.hints,
        template=hint_template_name(studio.method),
        timeout_seconds=settings.designer.generation_timeout_seconds,
        policy=studio.policy,
        endpoint=studio.hinter,
        keep_end=_keeps_end(studio.method),
    )
    return await write_hint(there, program, *place)
