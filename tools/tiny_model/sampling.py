"""Sample from a saved model with transformers, many conversations at once, on one thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from spade_trainer.chat import Chat, load_chat
from spade_trainer.design.prompt import ChatMessage


@dataclass(frozen=True)
class Completion:
    """ended: whether the model ended its turn within the limit. tokens: sampled ones, the end included."""

    text: str
    ended: bool
    tokens: int


@dataclass(frozen=True)
class Sampler:
    """A model and its chat, ready to sample."""

    model: Any
    chat: Chat

    def prompt_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Length of a prompt, generation header included."""
        return len(self.chat.prompt(messages))

    def complete(
        self,
        conversations: Sequence[Sequence[ChatMessage]],
        temperature: float,
        top_p: float,
        max_tokens: int,
        batch: int = 64,
    ) -> list[Completion]:
        """One completion for each conversation, by plain sampling at that temperature and top-p."""
        order = sorted(range(len(conversations)), key=lambda i: len(str(conversations[i])))
        result: list[Completion | None] = [None] * len(conversations)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            completions = self._complete_batch([conversations[i] for i in chosen], temperature, top_p, max_tokens)
            for i, completion in zip(chosen, completions, strict=True):
                result[i] = completion
        return [completion for completion in result if completion is not None]

    def _complete_batch(
        self, conversations: Sequence[Sequence[ChatMessage]], temperature: float, top_p: float, max_tokens: int
    ) -> list[Completion]:
        prompts = [self.chat.prompt(messages) for messages in conversations]
        width, pad = max(map(len, prompts)), self.model.config.pad_token_id
        ids = torch.tensor([[pad] * (width - len(p)) + p for p in prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
        with torch.inference_mode():
            output = self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                do_sample=True,
                temperature=temperature,
                top_p=top_p,
                top_k=0,
                max_new_tokens=max_tokens,
                pad_token_id=pad,
                eos_token_id=sorted(self.chat.stop_token_ids),
            )
        completions = []
        for row in output[:, width:].tolist():
            stop = next((i for i, token in enumerate(row) if token in self.chat.stop_token_ids), None)
            kept = row if stop is None else row[: stop + 1]
            completions.append(Completion(self.chat.decode(kept), stop is not None, len(kept)))
        return completions


def load_sampler(folder: Path, seed: int) -> Sampler:
    """The model of a folder in float32 on one thread, with torch's generator seeded."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return Sampler(model, load_chat(folder))
