"""The walls around one cell: how each is built, and how each is tried.

A cell is built in two steps. `enter` leaves the pod's namespaces (in a process that then forks the cell, because a PID
namespace begins with the next child). `close_in` does the rest inside the cell, last the system-call filter.
`try_walls` then attempts, from inside, what each wall must make impossible; the server opens no session while one
attempt succeeds. What ends a cell (processes, CPU time, wall clock) is tried from outside, with programs (trials.py).

A cell has no /proc, no /sys, no /dev and none of the image's files: its root is an empty scratch file system, in which
only one folder can be written. What that folder may hold is taken off the cell's memory, so that the two together stay
within the limit.
"""

import contextlib
import ctypes
import errno
import fcntl
import math
import os
import resource
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from spade_sandbox.pod import linux, seccomp

INNER_ID = 1000
"""User and group of a cell inside its user namespace; outside it is the pod's own unprivileged user."""
HOSTNAME = "cell"
SOCKET = 3
"""Descriptor of the cell's one socket; 0 to 2 are /dev/null."""
SCRATCH = "/tmp"  # noqa: S108  # the only folder of a cell's own root
STACK_BYTES = 16 * 2**20
_MOUNT_POINT = "/proc"
"""Exists under every root and is of no use to a cell, so the new root is mounted over it before the pivot."""
MAX_FILES = 256
"""Files in the scratch folder at once; the watch counts them, because gVisor's tmpfs does not."""
CPU_LOSS_SECONDS = 0.25
"""CPU time of its limit that a program may lose to the building of its cell, which uses far less by itself."""


@dataclass(frozen=True)
class CellLimits:
    """What the kernel enforces on one cell; the meaning of the fields is that of SandboxLimits."""

    memory_bytes: int
    cpu_seconds: int
    open_files: int
    file_bytes: int

    @property
    def scratch_bytes(self) -> int:
        """Size of the scratch file system."""
        return max(min(self.file_bytes, self.memory_bytes // 2), resource.getpagesize())


@dataclass(frozen=True)
class Site:
    """What building and trying a cell's walls needs to know."""

    limits: CellLimits
    library: ctypes.CDLL
    """libseccomp, which knows the numbers of calls."""
    filter: bytes
    """What `seccomp.compile_filter` made of it."""
    base_bytes: int
    """Address space of the interpreter before any program; the memory limit comes on top."""
    listener_port: int = 0
    """A port that listens on the pod's loopback while walls are tried."""
    shared_memory_key: int = 0
    """A System V segment of the pod while walls are tried."""


class WallMissing(Exception):
    """A cell could do what a wall must forbid."""


class When(IntEnum):
    """When a wall can be tried: the filter hides what the walls before it hold."""

    BEFORE_FILTER = 0
    AFTER_FILTER = 1


@dataclass(frozen=True)
class Wall:
    """One wall: the namespace it needs, what builds it inside the cell, and what tries it."""

    name: str
    attempt: Callable[[Site], None]
    """Raises WallMissing with the evidence."""
    build: Callable[[Site], None] | None = None
    namespace: int = 0
    when: When = When.AFTER_FILTER


def enter(walls: Iterable[Wall]) -> None:
    """Leave the pod's namespaces; the caller's next child is the cell. Raises OSError."""
    flags = 0
    for wall in walls:
        flags |= wall.namespace
    outer_user, outer_group = os.getuid(), os.getgid()
    linux.unshare(flags)
    if flags & linux.CLONE_NEWUSER:
        # gVisor refuses `setgroups` and does not need it; Linux wants it before an unprivileged gid_map
        with contextlib.suppress(OSError):
            _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{INNER_ID} {outer_user} 1")
        _write("/proc/self/gid_map", f"{INNER_ID} {outer_group} 1")


def close_in(walls: Iterable[Wall], site: Site) -> None:
    """Build all walls inside the cell, in the order of the table. Raises OSError."""
    for wall in walls:
        if wall.build:
            wall.build(site)


def try_walls(built: Iterable[Wall], site: Site, tried: Iterable[Wall]) -> dict[str, str]:
    """Build walls as for a program and attempt what each of `tried` must forbid. Returns a finding for each hole."""
    built, tried = tuple(built), tuple(tried)
    findings: dict[str, str] = {}
    close_in((wall for wall in built if wall.build is not _build_filter), site)
    findings |= _attempt(tried, When.BEFORE_FILTER, site)
    close_in((wall for wall in built if wall.build is _build_filter), site)
    return findings | _attempt(tried, When.AFTER_FILTER, site)


def address_space_bytes() -> int:
    """Size of this process's address space; needs /proc, so it is asked before the root goes."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _attempt(walls: tuple[Wall, ...], when: When, site: Site) -> dict[str, str]:
    findings: dict[str, str] = {}
    for wall in walls:
        if wall.when is not when:
            continue
        try:
            wall.attempt(site)
        except WallMissing as hole:
            findings[wall.name] = str(hole)
        except Exception as error:
            findings[wall.name] = f"could not be tried: {type(error).__name__}: {error}"
    return findings


# ── building ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _build_descriptors(site: Site) -> None:
    os.closerange(SOCKET + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _build_environment(site: Site) -> None:
    os.environ.clear()


def _build_hostname(site: Site) -> None:
    linux.sethostname(HOSTNAME)


def _build_root(site: Site) -> None:
    linux.mount("", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    size = f"mode=0700,size={site.limits.scratch_bytes}"
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    try:
        linux.mount("cell", _MOUNT_POINT, "tmpfs", flags, f"{size},nr_inodes={MAX_FILES + 2}")
    except OSError as error:
        if error.errno != errno.EINVAL:  # gVisor knows no nr_inodes
            raise
        linux.mount("cell", _MOUNT_POINT, "tmpfs", flags, size)
    os.chdir(_MOUNT_POINT)
    linux.pivot_to_working_directory()
    os.mkdir(SCRATCH, 0o700)
    os.chmod("/", 0o500)  # so that all of a program's files are in the one folder that the watch looks at
    os.chdir(SCRATCH)


def _limit(kind: int, value: int) -> None:
    resource.setrlimit(kind, (value, value))


def _build_memory(site: Site) -> None:
    _limit(resource.RLIMIT_AS, site.base_bytes + site.limits.memory_bytes - site.limits.scratch_bytes)
    _limit(resource.RLIMIT_STACK, STACK_BYTES)


def _build_cpu(site: Site) -> None:
    """The limit counts whole seconds from the process's start, so it can be early by the loss, or late by the rest."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    before = used.ru_utime + used.ru_stime
    _limit(resource.RLIMIT_CPU, site.limits.cpu_seconds + math.ceil(max(0.0, before - CPU_LOSS_SECONDS)))


def _build_files(site: Site) -> None:
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, site.limits.file_bytes)
    _limit(resource.RLIMIT_NOFILE, site.limits.open_files)


def _build_capabilities(site: Site) -> None:
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.drop_capabilities()


def _build_filter(site: Site) -> None:
    seccomp.install(site.filter)


# ── trying ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _must_fail(what: str, act: Callable[[], object], error: type[BaseException] = OSError) -> None:
    try:
        act()
    except error:
        return
    raise WallMissing(f"{what} worked")


def _try_user(site: Site) -> None:
    if os.getuid() != INNER_ID or os.getgid() != INNER_ID:
        raise WallMissing(f"the cell runs as {os.getuid()}:{os.getgid()}")


def _try_pid(site: Site) -> None:
    if os.getpid() != 1:
        raise WallMissing(f"the cell is process {os.getpid()}, not the first of its own namespace")


def _try_network(site: Site) -> None:
    try:
        client = socket.socket()
    except OSError as error:
        if error.errno == errno.EAFNOSUPPORT:  # gVisor on the host's network: a new namespace has no network at all
            return
        raise
    with client:
        others = [name for _, name in socket.if_nameindex() if name != "lo"]
        if others:
            raise WallMissing(f"network devices {', '.join(others)}")
        client.settimeout(1.0)
        _must_fail("a connection to the pod", lambda: client.connect(("127.0.0.1", site.listener_port)))


def _try_ipc(site: Site) -> None:
    if ctypes.CDLL(None).shmget(ctypes.c_int(site.shared_memory_key), ctypes.c_size_t(0), 0) >= 0:
        raise WallMissing("shared memory of the pod was found")


def _try_hostname(site: Site) -> None:
    if os.uname().nodename != HOSTNAME:
        raise WallMissing(f"the host name is {os.uname().nodename}")


def _try_root(site: Site) -> None:
    seen = os.listdir("/")
    if seen != [SCRATCH.strip("/")]:
        raise WallMissing(f"the root holds {', '.join(seen)[:200]}")
    _must_fail("a file in the root", lambda: os.close(os.open("/file", os.O_CREAT | os.O_WRONLY)))


def _try_capabilities(site: Site) -> None:
    _must_fail("mount", lambda: linux.mount("hole", SCRATCH, "tmpfs", 0))


def _try_descriptors(site: Site) -> None:
    for descriptor in range(SOCKET + 1, 1024):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            raise WallMissing(f"descriptor {descriptor} is open")


def _try_environment(site: Site) -> None:
    if os.environ:
        raise WallMissing(f"the environment holds {', '.join(os.environ)[:200]}")


def _try_memory(site: Site) -> None:
    _must_fail("allocating twice the limit", lambda: bytearray(2 * site.limits.memory_bytes), MemoryError)


def _try_cpu(site: Site) -> None:
    if resource.getrlimit(resource.RLIMIT_CPU)[1] == resource.RLIM_INFINITY:
        raise WallMissing("CPU time has no limit")


def _try_files(site: Site) -> None:
    def overfill() -> None:
        with open(f"{SCRATCH}/large", "wb", buffering=0) as file:
            written = 0
            while written <= site.limits.scratch_bytes:
                written += file.write(b"\0" * 65536)

    def open_too_many() -> None:
        kept = []
        try:
            for _ in range(site.limits.open_files + 1):
                kept.append(os.open(SCRATCH, os.O_RDONLY))
        finally:
            for descriptor in kept:
                os.close(descriptor)

    _must_fail("writing more than the scratch file system holds", overfill)
    os.unlink(f"{SCRATCH}/large")
    _must_fail("opening more files than the limit", open_too_many)


def _try_sockets(site: Site) -> None:
    _must_fail("socket", socket.socket)
    _must_fail("socketpair", socket.socketpair)


_FORBIDDEN_CALLS = (
    "ptrace", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "bpf", "io_uring_setup", "keyctl",
    "add_key", "memfd_create", "kill", "process_vm_readv", "perf_event_open", "userfaultfd", "prctl", "seccomp",
    "setrlimit", "prlimit64", "ioctl", "shmget", "syslog", "fcntl", "setpriority", "sched_setaffinity", "chmod",
    "mkdir", "link", "symlink", "mknod", "timer_create", "setitimer", "clock_settime", "eventfd2", "inotify_init1",
)  # fmt: skip


_ARGUMENTS = {"fcntl": (0, fcntl.F_GETLK, 0, 0, 0)}
"""Of `fcntl` a few commands are allowed."""


def _try_calls(site: Site) -> None:
    for name in _FORBIDDEN_CALLS:
        number = seccomp.number_of(site.library, name)
        if number is None:
            continue
        try:
            linux.syscall(number, *_ARGUMENTS.get(name, (0, 0, 0, 0, 0)))
        except PermissionError:
            continue
        except OSError as error:
            raise WallMissing(f"{name} reached the kernel: {error.strerror}") from error
        raise WallMissing(f"{name} worked")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


FIRST = When.BEFORE_FILTER
WALLS: tuple[Wall, ...] = (
    Wall("descriptors", _try_descriptors, _build_descriptors),
    Wall("environment", _try_environment, _build_environment),
    Wall("user", _try_user, namespace=linux.CLONE_NEWUSER),
    Wall("pid", _try_pid, namespace=linux.CLONE_NEWPID),
    Wall("network", _try_network, namespace=linux.CLONE_NEWNET, when=FIRST),
    Wall("ipc", _try_ipc, namespace=linux.CLONE_NEWIPC, when=FIRST),
    Wall("hostname", _try_hostname, _build_hostname, linux.CLONE_NEWUTS),
    Wall("root", _try_root, _build_root, linux.CLONE_NEWNS),
    Wall("files", _try_files, _build_files),
    Wall("memory", _try_memory, _build_memory),
    Wall("capabilities", _try_capabilities, _build_capabilities, when=FIRST),
    Wall("cpu", _try_cpu, _build_cpu, when=FIRST),
    Wall("calls", _try_calls, _build_filter),
    Wall("sockets", _try_sockets),
)
"""In building order: the filter is last, because the others need calls that it denies; CPU time begins before it."""
