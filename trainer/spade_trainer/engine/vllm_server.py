"""What runs in the engine's child process: vLLM's own API server, started sooner and tied to its parent.

    python -m spade_trainer.engine.vllm_server ARCHITECTURE vLLM-ARGUMENTS…

With an architecture instead of `-`, its model class is registered from this process; vLLM would otherwise import
itself once more in a subprocess to look at the class, which costs as much as the whole start of the server.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PARENT = "SPADE_ENGINE_PID"
"""Environment variable with the parent's process id: without it a parent that died at once would go unnoticed."""


def main() -> None:
    """Serve until a signal."""
    end_with_parent()
    architecture = sys.argv.pop(1)
    if architecture != "-":
        register(architecture)
    from vllm.entrypoints.launchers.api_server.entry import main as serve

    serve()


def end_with_parent() -> None:
    """Have the kernel send SIGTERM when the parent dies, however it dies."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(os.environ[PARENT]):
        sys.exit(1)


def register(architecture: str) -> None:
    """Import a model class that vLLM knows; an unknown name is left to vLLM's own message."""
    from vllm.model_executor.models.registry import ModelRegistry

    known = ModelRegistry.models.get(architecture)
    if known is not None:
        ModelRegistry.register_model(architecture, known.load_model_cls())


if __name__ == "__main__":
    main()
