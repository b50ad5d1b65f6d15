"""What rounding does to a tensor, made at will: the measure of how far apart two right computations can be."""

import torch


def spacings(tensor: torch.Tensor) -> torch.Tensor:
    """The distance, in fp32, from each number to the next one away from zero in the tensor's dtype."""
    facts = torch.finfo(tensor.dtype)
    magnitude = tensor.abs().float().clamp(min=facts.smallest_normal)
    _, exponent = torch.frexp(magnitude)
    return torch.ldexp(torch.full_like(magnitude, facts.eps), exponent - 1)


def nudged(tensor: torch.Tensor, share: float, random: torch.Generator) -> torch.Tensor:
    """The tensor with that share of its numbers moved by one spacing, up or down. Draws on the generator's device."""
    draws = torch.rand(tensor.shape, generator=random, device=random.device).to(tensor.device)
    sign = (draws < share / 2).float() - ((draws >= share / 2) & (draws < share)).float()
    return (tensor.float() + sign * spacings(tensor)).to(tensor.dtype)
