"""Back-end `runsc`: gVisor run directly, around the Python environment that this process itself uses.

The root file system is an empty folder; what Python needs is mounted into it read-only: its prefix, our packages, the
system's libraries. There is no network, no capability and no user but an unprivileged one.
"""

import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from spade_sandbox.local.launch import MODULE, BackendUnusable, Launch, package_folders, pod_environment, python_path

UNPRIVILEGED = 65532
NAMED = "SPADE_RUNSC"
"""Variable that names the program, where it is not in PATH."""
REMEDY = "Run `make gvisor` in a checkout, install runsc some other way, or name it in SPADE_RUNSC."
_LIBRARY_FOLDERS = ("/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib")
_FILES = ("/etc/ld.so.cache", "/etc/localtime")
_SCRATCH = ("/tmp", "/dev")  # noqa: S108  # inside, made for the pod
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def find_runsc() -> Path:
    """The program: SPADE_RUNSC, PATH, or where `make gvisor` and the development cluster put it.

    Raises BackendUnusable.
    """
    named = os.environ.get(NAMED)
    home = Path(os.environ.get("SPADE_HOME") or "/var/lib/spade")
    on_path = shutil.which("runsc")
    candidates = [Path(named)] if named else [*([Path(on_path)] if on_path else []), *_built(home)]
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.absolute()
    where = f"{NAMED} names {named}, which is no program" if named else "runsc is not in PATH"
    raise BackendUnusable(f"{where}.", remedy=REMEDY)


def launch(folder: Path, token: str, capacity: int) -> Launch:
    """Write a bundle into `folder` and say how to run it. Raises BackendUnusable."""
    program = find_runsc()
    root = folder / "root"
    root.mkdir()
    configuration = folder / "config.json"
    configuration.touch(mode=0o600)  # it holds the token
    configuration.write_text(json.dumps(bundle(root, token, capacity)))
    name, state = folder.name, folder / "state"
    state.mkdir(mode=0o700)  # runsc keeps the configuration there too
    flags = [f"--root={state}", "--network=none", "--ignore-cgroups"]
    if os.geteuid() != 0:
        flags.append("--rootless")
    command = (str(program), *flags)
    return Launch(
        (*command, "run", "--bundle", str(folder), name),
        {"PATH": os.environ.get("PATH", _PATH), "HOME": str(folder), "TMPDIR": str(folder)},
        ((*command, "delete", "--force", name),),
    )


def bundle(root: Path, token: str, capacity: int) -> dict[str, object]:
    """The OCI configuration. Makes the links that the root file system needs."""
    nothing: dict[str, list[str]] = {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted")}
    environment = {**pod_environment(token, capacity), "PYTHONPATH": python_path(), "PATH": _PATH, "HOME": _SCRATCH[0]}
    return {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": UNPRIVILEGED, "gid": UNPRIVILEGED},
            "args": [sys.executable, "-s", "-P", "-m", MODULE],
            "env": [f"{name}={value}" for name, value in environment.items()],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": nothing,
        },
        "root": {"path": str(root), "readonly": True},
        "hostname": "spade",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            *({"destination": place, "type": "tmpfs", "source": "tmpfs"} for place in _SCRATCH),
            *mounts(root, needed()),
        ],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "network")]},
    }


def needed() -> tuple[Path, ...]:
    """Folders and files of this machine that the pod's Python reads; nothing that lies within another of them."""
    paths = {Path(path) for path in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)}
    paths |= {Path(path) for path in sysconfig.get_paths().values() if "python" in path}
    paths |= {*_prefixes(Path(sys.executable)), *package_folders()}
    paths |= {Path(path) for path in (*_LIBRARY_FOLDERS, *_FILES)}
    return outermost(path for path in paths if path.exists())


def outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Those that lie within no other."""
    there = sorted(set(paths))
    return tuple(path for path in there if not any(other in path.parents for other in there if other != path))


def _prefixes(program: Path) -> set[Path]:
    """The prefix of a program in some prefix/bin, and of each link on the way to it."""
    found = {program.parents[1]}
    while program.is_symlink():
        program = Path(os.path.normpath(program.parent / program.readlink()))
        found.add(program.parents[1])
    return found


def mounts(root: Path, paths: Iterable[Path]) -> list[dict[str, object]]:
    """Read-only mounts of these paths; a link such as /lib becomes the same link in the root."""
    found: list[dict[str, object]] = []
    for path in paths:
        if path.is_symlink() and path.parent == Path("/"):
            (root / path.name).symlink_to(path.readlink())
        else:
            options = ["ro", "nosuid", "nodev", "rbind"]
            found.append({
                "destination": str(path), "type": "bind", "source": str(path.resolve()), "options": options,
            })  # fmt: skip
    return found


def _built(home: Path) -> list[Path]:
    return [home / "gvisor" / "runsc", home / "bin" / "current" / "runsc"]
