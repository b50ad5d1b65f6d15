"""What pods say brings passes: at once, and for thousands of admitted pods after a start few of them."""

import asyncio
from dataclasses import replace

import pytest
from tests.support import pictures as p

from spade_operator.handlers.memory import GATHER_SECONDS, hear
from spade_operator.keys import Key, run_key
from spade_operator.polling import Word
from spade_operator.queue import WorkQueue

RUN = run_key(p.SANDBOX.meta.namespace, p.SANDBOX.meta.run)


@pytest.mark.looptime
async def test_first_words_of_many_admitted_pods_bring_one_pass_soon() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number in range(100):
        hear(queue, replace(p.SANDBOX, meta=replace(p.SANDBOX.meta, uid=f"uid-{number}")), Word.FIRST)
        await asyncio.sleep(GATHER_SECONDS / 200)
    assert await queue.get() == RUN
    assert loop.time() - began == pytest.approx(GATHER_SECONDS)
    queue.done(RUN, idle=True)
    assert len(queue) == 0
    queue.close()


@pytest.mark.parametrize(
    ("pod", "word"),
    [
        pytest.param(p.SANDBOX, Word.NEWS, id="news of an admitted pod"),
        pytest.param(replace(p.SANDBOX, admitted_boot=""), Word.FIRST, id="first word of a pod that is not admitted"),
        pytest.param(p.ENGINE, Word.FIRST, id="first word of an engine"),
    ],
)
async def test_other_words_bring_a_pass_at_once(pod: p.PodRecord, word: Word) -> None:
    queue: WorkQueue[Key] = WorkQueue()
    hear(queue, pod, word)
    assert len(queue) == 1
    assert await queue.get() == run_key(pod.meta.namespace, pod.meta.run)
