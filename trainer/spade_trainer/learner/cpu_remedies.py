"""What megatron-core 0.16.1 needs to run without CUDA, all in one place.

Megatron assumes CUDA below its public interface: devices, streams, generators and type names. `apply()` replaces
exactly those, once per process, and only where there is no CUDA. Every remedy reaches into Megatron's private parts,
so another version is refused rather than guessed at. Nothing here changes a number: layouts, checkpoints and steps
agree with each other and the forward pass with Hugging Face's (tests/component/learner).
"""

import contextlib
import importlib
import queue
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

import torch
from torch.optim.adamw import adamw
from torch.overrides import TorchFunctionMode

from spade_contracts.errors import SpadeError

KNOWN_MEGATRON = "0.16.1"
CPU = torch.device("cpu")


class UnknownMegatron(SpadeError):
    """The CPU remedies were not written for the installed megatron-core."""

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(
            f"megatron-core {found} is installed, and the CPU remedies know only {KNOWN_MEGATRON}.",
            remedy=f"Install megatron-core=={KNOWN_MEGATRON}, or run on CUDA, where no remedy is applied.",
        )


class _NoStream:
    """A CUDA stream or event where there is only one order of work: waiting for it is over at once."""

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        pass

    def __enter__(self) -> "_NoStream":
        return self

    def __exit__(self, *_args: object) -> None:
        return None

    def _nothing(self, *_args: object, **_kwargs: object) -> None:
        return None

    wait = wait_stream = wait_event = synchronize = record = _nothing

    def record_event(self, *_args: object) -> "_NoStream":
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NoStream)

    def __hash__(self) -> int:
        return 0


class _CudaMeansCpu(TorchFunctionMode):
    """Inside, `device='cuda'` makes CPU tensors, `.cuda()` returns the tensor, and type names carry `cuda`."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if "cuda" in str(kwargs.get("device", "")):
            kwargs["device"] = CPU
        name = getattr(func, "__name__", "")
        if name == "cuda":
            return args[0]
        result = func(*args, **kwargs)
        if name == "type" and isinstance(result, str):
            return result.replace("torch.", "torch.cuda.", 1)
        return result


def needed() -> bool:
    """Whether this process must do without CUDA."""
    return not torch.cuda.is_available()


@contextlib.contextmanager
def optimizer_section() -> Iterator[None]:
    """Wrap whatever builds, steps, saves or loads Megatron's optimizer; does nothing where there is CUDA."""
    if not needed():
        yield
        return
    with _CudaMeansCpu():
        yield


def apply() -> None:
    """Apply every remedy that holds for the whole process, before Megatron is imported. Again does no harm.

    Raises UnknownMegatron without CUDA and with another megatron-core than the one these were written for.
    """
    if not needed():
        return
    check_version()
    _no_compiler()
    _devices_and_streams()
    _generators()
    _router()
    _dispatcher()
    _adam()
    _checkpoint_writer()


def installed_megatron() -> str:
    """Version of the installed megatron-core, found without importing it."""
    return metadata.version("megatron-core")


def check_version() -> None:
    """Raise UnknownMegatron unless the installed megatron-core is the one that the remedies are for."""
    version = installed_megatron()
    if version != KNOWN_MEGATRON:
        raise UnknownMegatron(version)


def _no_compiler() -> None:
    """Megatron compiles small functions for speed; here that costs more than it saves, and the image has no compiler.

    It asks for the compiler while it is imported, so this comes first.
    """

    def eager(function: Any = None, **_options: object) -> Any:
        return function if function is not None else eager

    torch.compile = eager


def _devices_and_streams() -> None:
    """Rotary embeddings and buffers ask for the current device; the dispatcher makes streams and events."""
    cuda: Any = torch.cuda
    cuda.current_device = lambda: CPU
    cuda.Stream = cuda.Event = _NoStream
    cuda.current_stream = cuda.default_stream = lambda *_args: _NoStream()
    cuda.stream = lambda _stream: _NoStream()
    cuda.synchronize = lambda *_args: None


def _generators() -> None:
    """Megatron's generator tracker keeps CUDA generator states: here they are the CPU generator's."""
    random: Any = importlib.import_module("megatron.core.tensor_parallel.random")
    cuda: Any = torch.cuda

    def get_state(*_args: object, **_kwargs: object) -> torch.Tensor:
        return torch.get_rng_state()

    def set_state(state: torch.Tensor, *_args: object, **_kwargs: object) -> None:
        torch.set_rng_state(state)

    random._get_cuda_rng_state, random._set_cuda_rng_state = get_state, set_state
    cuda.get_rng_state, cuda.set_rng_state = get_state, set_state
    cuda.manual_seed = torch.manual_seed


def _router() -> None:
    """An fp32 router names a Transformer Engine function that is not defined without Transformer Engine."""
    moe_utils: Any = importlib.import_module("megatron.core.transformer.moe.moe_utils")
    if not hasattr(moe_utils, "te_general_gemm"):
        moe_utils.te_general_gemm = None


def _dispatcher() -> None:
    """Split sizes of an all-to-all become plain numbers only when they come from a CUDA tensor."""
    dispatcher: Any = importlib.import_module("megatron.core.transformer.moe.token_dispatcher")

    def moved(tensor: Any, as_numpy: bool = False, record_stream: bool = False) -> Any:
        return tensor.detach().numpy() if as_numpy and torch.is_tensor(tensor) else tensor

    dispatcher.maybe_move_tensor_to_cpu = moved


class _GroupAdam(torch.optim.Optimizer):
    """AdamW that counts steps per parameter group, as Transformer Engine's does, with torch's arithmetic."""

    def __init__(
        self,
        params: Any,
        *,
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        adam_w_mode: bool = True,
    ) -> None:
        if not adam_w_mode:
            raise NotImplementedError("only decoupled weight decay is used here")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def step(self, closure: Any = None) -> None:
        """One step; a group without any gradient does not count it."""
        with torch.no_grad():
            self._step()

    def _step(self) -> None:
        for group in self.param_groups:
            params = [param for param in group["params"] if param.grad is not None]
            if not params:
                continue
            for param in params:
                if not self.state[param]:
                    self.state[param] = {key: torch.zeros_like(param) for key in ("exp_avg", "exp_avg_sq")}
            done = group.get("step", 0)
            group["step"] = done + 1
            adamw(
                params,
                [param.grad for param in params],
                [self.state[param]["exp_avg"] for param in params],
                [self.state[param]["exp_avg_sq"] for param in params],
                [],
                [torch.tensor(float(done)) for _ in params],
                foreach=False,
                amsgrad=False,
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=False,
            )


def _adam() -> None:
    """Megatron 0.16.1 cannot load its checkpoints into torch's own AdamW.

    It asks a fresh optimiser for step counters that are not there yet, copies a counter that it does not save, and
    gives all parameters one counter tensor, which every parameter would then advance. With Transformer Engine the
    counter belongs to the group; here it does too.
    """
    optimizer: Any = importlib.import_module("megatron.core.optimizer")
    sharded: Any = importlib.import_module("megatron.core.optimizer.distrib_optimizer")
    optimizer.Adam, optimizer.USING_PYTORCH_OPTIMIZER = _GroupAdam, False
    sharded.Adam, sharded.HAVE_APEX_OR_TE, sharded.USING_TE_OPTIMIZER = _GroupAdam, True, True


def _checkpoint_writer() -> None:
    """Checkpoints are written by this process.

    Megatron forks a writer per file and starts a manager process to hear of them. A fork of a process that holds gloo
    sockets and an HTTP thread is unsafe, and the parent waits for ever if a writer is killed.
    """
    module: Any = importlib.import_module("megatron.core.dist_checkpointing.strategies.filesystem_async")
    writer = module.FileSystemWriterAsync

    def write_here(
        transforms: list[Any], use_msc: bool, rank: int, buckets: list[Any], results: "queue.Queue[Any]"
    ) -> None:
        written: dict[int, Any] = {}
        for index, bucket in enumerate(buckets):
            local: queue.Queue[Any] = queue.Queue()
            count: queue.Queue[int] = queue.Queue()
            count.put(index)
            writer.write_preloaded_data(transforms, index, bucket, local, count, use_fsync=True, use_msc=use_msc)
            _, outcome = local.get_nowait()
            if isinstance(outcome, Exception):
                results.put(outcome)
                return
            written[index] = outcome
        results.put(written)

    module._get_write_results_queue = queue.Queue
    writer.write_preloaded_data_multiproc = staticmethod(write_here)
