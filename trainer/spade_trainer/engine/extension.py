"""What runs inside vLLM's worker: hand a policy's files to the model, say which bytes they were, move the canary.

Named to vLLM by `--worker-extension-cls` and called through `collective_rpc`. Each worker of a tensor-parallel engine
reads all tensors and keeps its part, so that all must report the same digest.
"""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_trainer.store import tensors

CANARY = "model.norm.weight"
"""The tensor that the canary scales: the last norm, which moves every logit and no cached key or value."""


class PolicyExtension:
    """Mixed into vLLM's worker class: `self` is the worker. Names start with `spade_`, because a clash is an error."""

    def spade_load_policy(self, folder: str) -> dict[str, Any]:
        """Replace all weights by those of a folder's safetensors.

        Returns `sha256` and `tensors` of what the model was handed, and `read_back`, the number of tensors whose bytes
        were found again in the model afterwards. A folder whose tensors differ from the present ones in name or shape
        is refused before anything is touched: then `refused` holds the reason and nothing else is there.
        Raises InfrastructureFault if a tensor that can be read back is not what was handed over.
        """
        worker: Any = self
        model = worker.get_model()
        # The folder vLLM booted from; reloading through an iterator leaves this setting alone.
        with opened(Path(worker.model_config.model)) as present, opened(Path(folder)) as wanted:
            difference = first_difference(shapes(present), shapes(wanted))
            if difference:
                return {"refused": f"{folder}: {difference}"}
            digest = hashlib.sha256()
            readable = readable_parameters(model)
            handed: dict[str, Any] = {}

            def iterate() -> Iterator[tuple[str, Any]]:
                for name in sorted(wanted):
                    tensor = wanted[name].get_tensor(name)
                    stored = wanted[name].get_slice(name)
                    tensors.update(digest, name, stored.get_dtype(), stored.get_shape(), raw_bytes(tensor))
                    if name in readable:
                        handed[name] = tensor
                    yield name, tensor

            prepare_experts(model)
            worker.reload_weights(weights_iterator=iterate())
            renew_tied_head(model)
            read_back = sum(confirm(model, name, tensor) for name, tensor in handed.items())
        worker.spade_canary_loaded = canary_parameter(model).detach().clone()
        return {"sha256": digest.hexdigest(), "tensors": len(wanted), "read_back": read_back}

    def spade_scale_norm(self, factor: float) -> dict[str, Any]:
        """Set the canary tensor to its loaded value times `factor`; return its `tensor` name and its `sum` in fp32."""
        worker: Any = self
        parameter = canary_parameter(worker.get_model())
        if not hasattr(worker, "spade_canary_loaded"):
            worker.spade_canary_loaded = parameter.detach().clone()
        loaded = worker.spade_canary_loaded
        parameter.data.copy_(loaded if factor == 1.0 else (loaded.float() * factor).to(parameter.dtype))
        return {"tensor": CANARY, "sum": float(parameter.detach().float().sum())}


@contextmanager
def opened(folder: Path) -> Iterator[dict[str, Any]]:
    """Name of each tensor in a folder → the open safetensors file that holds it. Raises InvalidInput."""
    from safetensors import SafetensorError, safe_open

    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise InvalidInput(str(folder), "holds no *.safetensors")
    files: dict[str, Any] = {}
    with ExitStack() as stack:
        for path in paths:
            try:
                file = stack.enter_context(safe_open(path, framework="pt"))
            except (SafetensorError, OSError) as error:
                raise InvalidInput(str(path), f"damaged safetensors file: {error}") from error
            files.update(dict.fromkeys(file.keys(), file))
        yield files


def shapes(files: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shape of each tensor, from the headers."""
    return {name: tuple(file.get_slice(name).get_shape()) for name, file in files.items()}


def first_difference(present: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]]) -> str:
    """What is wrong with the wanted tensors, in words; empty if they are those of the present model."""
    for name in sorted(present.keys() | wanted.keys()):
        if name not in wanted:
            return f"tensor {name} is missing"
        if name not in present:
            return f"tensor {name} is not one of this model"
        if present[name] != wanted[name]:
            return f"tensor {name} has shape {wanted[name]}, the model's is {present[name]}"
    return ""


def raw_bytes(tensor: Any) -> Any:
    """The bytes of a tensor in row-major order, without a copy where it lies so already."""
    import torch

    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy()


def prepare_experts(model: Any) -> None:
    """Make a reload lay the experts out anew on CPU.

    There, experts are repacked only when their kernel is first set up; a reload finds the kernel and leaves the new
    weights in checkpoint order, which the kernel then misreads without an error (field-rl.md D3). GPU kernels are laid
    out on every reload and keep the storage that CUDA graphs hold.
    """
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return
    for module in model.modules():
        method: Any = getattr(module, "quant_method", None)
        if getattr(method, "moe_kernel", None) is not None:
            method.moe_kernel = None


def renew_tied_head(model: Any) -> None:
    """Lay a head that shares the embedding's weight out anew on CPU, after a reload.

    There, the head's kernel holds a packed copy of the weight. A reload processes the embedding only (a limitation that
    vLLM documents for tied parameters), and the head would go on with the old copy without an error. On GPU the head
    reads the shared weight.
    """
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return
    head, embedding = getattr(model, "lm_head", None), getattr(model.model, "embed_tokens", None)
    if head is None or embedding is None or head is embedding:
        return
    if head.weight.data_ptr() == embedding.weight.data_ptr():
        head.quant_method.process_weights_after_loading(head)


def readable_parameters(model: Any) -> frozenset[str]:
    """Names of the parameters that the model keeps as the checkpoint has them: embeddings and norms.

    Linear layers and experts are repacked by their kernels, some into empty tensors (field-rl.md D3).
    """
    return frozenset(
        name for name, value in model.named_parameters() if "norm" in name or name == "model.embed_tokens.weight"
    )


def confirm(model: Any, name: str, tensor: Any) -> bool:
    """Whether a parameter could be read back. Raises InfrastructureFault if it holds other values than the tensor.

    Embeddings are padded with rows at the end; a part of a tensor-parallel engine has other shapes and is not compared.
    """
    import torch

    parameter = model.get_parameter(name).detach().cpu()
    expected = tensor.to(parameter.dtype)
    if parameter.dim() != expected.dim() or parameter.shape[1:] != expected.shape[1:]:
        return False
    if parameter.shape[0] < expected.shape[0]:
        return False
    if not torch.equal(parameter[: expected.shape[0]], expected):
        raise InfrastructureFault(f"{name} in the model is not what was loaded; the reload went wrong")
    return True


def canary_parameter(model: Any) -> Any:
    """The parameter that the canary scales."""
    return model.get_parameter(CANARY)
