"""Each architecture has the family that speaks for it, and every family can be used alike."""

from types import ModuleType

import pytest

from spade_contracts.errors import InvalidInput
from spade_trainer.models import qwen3, qwen3_moe, registry

USED = (
    "NORM",
    "bindings",
    "check_layout",
    "copies",
    "join",
    "narrow",
    "shape_of",
    "split",
    "tensor_names",
    "transformer_config",
    "widen",
)
"""What the learner and the workers ask a family for."""


@pytest.mark.parametrize(("architecture", "family"), [("Qwen3ForCausalLM", qwen3), ("Qwen3MoeForCausalLM", qwen3_moe)])
def test_the_registry_knows_each_family(architecture: str, family: ModuleType) -> None:
    assert registry.family_of({"architectures": [architecture]}) is family


def test_an_architecture_without_a_family_is_refused_with_the_names_of_those_that_have_one() -> None:
    with pytest.raises(InvalidInput, match="one of these: Qwen3ForCausalLM, Qwen3MoeForCausalLM"):
        registry.family_of({"architectures": ["LlamaForCausalLM"]})


@pytest.mark.parametrize("family", registry.FAMILIES.values(), ids=list(registry.FAMILIES))
def test_every_family_has_what_is_asked_of_one(family: ModuleType) -> None:
    assert set(USED) <= set(family.__all__)
    assert set(family.__all__) <= set(vars(family))
