"""Back-end `docker`: a container of the sandbox image, with gVisor as Docker's runtime `runsc`."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping

from spade_sandbox.local.launch import MODULE, BackendUnusable, Launch, pod_environment

IMAGE = "spade.local/sandbox:dev"
IMAGE_VARIABLE = "SPADE_SANDBOX_IMAGE"
RUNTIME = "runsc"
ASK_SECONDS = 20.0
UNPRIVILEGED = 65532
_FORWARDED = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY")
"""Of our environment, what Docker's client needs to find its server."""


def launch(name: str, token: str, capacity: int) -> Launch:
    """The container to run. Raises BackendUnusable unless Docker answers, has the runtime and has the image."""
    program = shutil.which("docker")
    if program is None:
        raise BackendUnusable("docker is not in PATH.", remedy="Install Docker, or take another back-end.")
    _check_runtime(program)
    image = os.environ.get(IMAGE_VARIABLE) or IMAGE
    _check_image(program, image)
    settings = pod_environment(token, capacity)
    return Launch(
        run_command(program, name, image, settings),
        {**client_environment(os.environ), **settings},
        ((program, "rm", "--force", "--volumes", name),),
    )


def run_command(program: str, name: str, image: str, settings: Mapping[str, str]) -> tuple[str, ...]:
    """The words of `docker run`. Values of settings travel in the environment, so the token is in no process list."""
    return (
        *(program, "run", "--rm", "--interactive", "--name", name, f"--runtime={RUNTIME}", "--pull=never"),
        *("--network=none", "--read-only", "--tmpfs=/tmp", f"--user={UNPRIVILEGED}:{UNPRIVILEGED}"),
        *("--cap-drop=ALL", "--security-opt=no-new-privileges", "--log-driver=none", "--label=spade.dev/role=sandbox"),
        *(word for variable in settings for word in ("--env", variable)),
        *(image, "python", "-m", MODULE),
    )


def client_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What Docker's client is given of our environment."""
    return {name: environment[name] for name in _FORWARDED if name in environment}


def _check_runtime(program: str) -> None:
    answer = _ask(program, "info", "--format", "{{json .Runtimes}}")
    try:
        runtimes = json.loads(answer.stdout) if answer.returncode == 0 else None
    except ValueError:
        runtimes = None
    if not isinstance(runtimes, dict):
        said = (answer.stderr or answer.stdout).strip()[-300:] or "it gave no reason"
        raise BackendUnusable(f"Docker does not answer: {said}", remedy="Start its daemon, or take another back-end.")
    if RUNTIME not in runtimes:
        remedy = "Run `make gvisor` in a checkout; it registers the runtime."
        raise BackendUnusable(f"Docker has no runtime {RUNTIME}.", remedy=remedy)


def _check_image(program: str, image: str) -> None:
    if _ask(program, "image", "inspect", "--format", "{{.Id}}", image).returncode != 0:
        remedy = f"Run `make docker-image` in a checkout, or name one you have in {IMAGE_VARIABLE}."
        raise BackendUnusable(f"Docker has no image {image}.", remedy=remedy)


def _ask(program: str, *words: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            [program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ASK_SECONDS,
            env=client_environment(os.environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendUnusable(f"docker {words[0]} failed: {error}", remedy="Take another back-end.") from error
