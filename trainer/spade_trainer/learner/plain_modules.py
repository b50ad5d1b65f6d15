"""Two modules that stand in for Transformer Engine's where there is no CUDA."""

from typing import Any

import torch


class RmsNorm(torch.nn.Module):
    """Root-mean-square norm, computed in fp32 and scaled in the parameters' type, as Hugging Face does it.

    Megatron's own stand-in refuses sequence parallelism; this one marks its weight, whose gradient Megatron then sums
    over the tensor-parallel ranks.
    """

    def __init__(self, config: Any, hidden_size: int, eps: float = 1e-6, **_unused: Any) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(hidden_size, dtype=config.params_dtype))
        self.weight.sequence_parallel = config.sequence_parallel

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden: (..., hidden_size) → the same shape and type."""
        wide = hidden.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return scaled.to(hidden.dtype) * self.weight


class CausalAttention(torch.nn.Module):
    """Causal attention without storing the scores.

    Megatron's local attention keeps several matrices of tokens x tokens for each head and layer, which alone would
    pass a learner pod's memory at a thousand tokens.
    """

    def __init__(self, config: Any, layer_number: int, **_unused: Any) -> None:
        super().__init__()
        if config.context_parallel_size != 1:
            raise NotImplementedError("context parallelism needs Transformer Engine's attention")

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_unused: Any, **_also_unused: Any
    ) -> torch.Tensor:
        """query: (tokens, batch, heads, width); key and value: (tokens, batch, groups, width).

        Returns (tokens, batch, heads x width). Right padding needs no mask: no token sees a later one.
        """
        tokens, batch = query.shape[:2]
        attended = torch.nn.functional.scaled_dot_product_attention(
            *(part.permute(1, 2, 0, 3) for part in (query, key, value)), is_causal=True, enable_gqa=True
        )
        return attended.permute(2, 0, 1, 3).reshape(tokens, batch, -1)
