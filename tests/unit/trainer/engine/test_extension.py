"""After a reload, a head that shares the embedding's weight is laid out anew where its kernel keeps a copy."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from spade_trainer.engine.extension import renew_tied_head


def model(head: torch.Tensor, embedding: torch.Tensor, renewed: list[Any]) -> Any:
    """What of vLLM's model the rule looks at; `renewed` gets every layer that is laid out anew."""
    method = SimpleNamespace(process_weights_after_loading=renewed.append)
    lm_head = SimpleNamespace(weight=head, quant_method=method)
    return SimpleNamespace(lm_head=lm_head, model=SimpleNamespace(embed_tokens=SimpleNamespace(weight=embedding)))


@pytest.mark.parametrize(("cpu", "tied", "wanted"), [(True, True, 1), (True, False, 0), (False, True, 0)])
def test_only_a_tied_head_on_cpu_is_laid_out_anew(
    monkeypatch: pytest.MonkeyPatch, cpu: bool, tied: bool, wanted: int
) -> None:
    platforms = SimpleNamespace(current_platform=SimpleNamespace(is_cpu=lambda: cpu))
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(platforms=platforms))
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    embedding, renewed = torch.ones(4, 2), []
    made = model(embedding if tied else torch.ones(4, 2), embedding, renewed)
    renew_tied_head(made)
    assert renewed == [made.lm_head] * wanted


def test_a_part_of_a_model_without_head_or_embedding_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    platforms = SimpleNamespace(current_platform=SimpleNamespace(is_cpu=lambda: True))
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(platforms=platforms))
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    renew_tied_head(SimpleNamespace(model=SimpleNamespace()))
