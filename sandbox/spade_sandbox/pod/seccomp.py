"""The cell's system-call filter: a short list of what pure computation needs; everything else fails with EPERM.

An allow-list, because a new kernel brings new calls; there is no socket, ptrace, mount, bpf, io_uring or keyring in it.
To begin a process or thread ends the cell at once, with SIGSYS, so that it is a fault of its own and a program that
ignores errors does not go on. RLIMIT_NPROC is no substitute: gVisor counts it per user over the whole pod.
Built with libseccomp, which knows the numbers of each architecture and refuses foreign ones.
"""

import ctypes
import errno
import fcntl
import os

from spade_sandbox.pod import linux

ALLOWED: tuple[str, ...] = (
    # the one socket, scratch files
    "read", "write", "readv", "writev", "pread64", "pwrite64", "close", "lseek", "fstat", "newfstatat", "stat", "lstat",
    "statx", "open", "openat", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "getdents64",
    "dup", "ftruncate", "unlink", "unlinkat", "rename", "renameat", "renameat2",
    "fsync", "fdatasync", "poll", "ppoll", "select", "pselect6",
    # memory
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise",
    # time and signals of its own
    "clock_gettime", "clock_getres", "gettimeofday", "time", "times", "clock_nanosleep", "nanosleep", "getitimer",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    # what an interpreter asks about itself
    "futex", "sched_yield", "sched_getaffinity", "getrandom", "getpid", "gettid", "getppid", "getuid", "geteuid",
    "getgid", "getegid", "getrusage", "uname", "sysinfo", "exit", "exit_group", "tgkill",
)  # fmt: skip

FCNTL_COMMANDS = (fcntl.F_DUPFD, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL, fcntl.F_DUPFD_CLOEXEC)
"""The rest holds locks and pipe sizes, which are kernel memory that nobody counts."""
ENDING: tuple[str, ...] = ("fork", "vfork", "clone", "clone3", "execve", "execveat")

_ACT_ALLOW = 0x7FFF0000
_ACT_ERRNO = 0x00050000
_ACT_KILL_THREAD = 0x00000000
"""Kills the process: it has one thread. gVisor knows no other way to kill."""
_CMP_EQ = 4
_UNKNOWN_SYSCALL = -1
"""libseccomp's __NR_SCMP_ERROR: this architecture has no such call (`open` on arm64)."""


class _Comparison(ctypes.Structure):
    """libseccomp's scmp_arg_cmp."""

    _fields_ = [
        ("argument", ctypes.c_uint), ("how", ctypes.c_int), ("value", ctypes.c_uint64), ("unused", ctypes.c_uint64),
    ]  # fmt: skip


def load_library() -> ctypes.CDLL:
    """libseccomp 2; raises OSError when the image lacks it."""
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p,
    ]  # fmt: skip
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    return library


def compile_filter(library: ctypes.CDLL) -> bytes:
    """The filter as a BPF program. Made once, ahead of all cells: building it in each would cost it pages and time.

    Raises OSError.
    """
    context = library.seccomp_init(_ACT_ERRNO | errno.EPERM)
    if not context:
        raise OSError(errno.ENOMEM, "seccomp_init failed")
    try:
        for name in ALLOWED:
            _add(library, context, _ACT_ALLOW, name)
        for command in FCNTL_COMMANDS:
            _add(library, context, _ACT_ALLOW, "fcntl", _Comparison(1, _CMP_EQ, command, 0))
        for name in ENDING:
            _add(library, context, _ACT_KILL_THREAD, name)
        return _exported(library, context)
    finally:
        library.seccomp_release(context)


def _exported(library: ctypes.CDLL, context: int) -> bytes:
    """Through a pipe, which holds the largest program that the kernel takes, because a pod has no files to write."""
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as file:
        try:
            _check(library.seccomp_export_bpf(context, write_end), "seccomp_export_bpf")
        finally:
            os.close(write_end)
        return file.read()


def install(program: bytes) -> None:
    """Filter this process from now on. Irreversible. Raises OSError."""
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    linux.filter_calls(program)


def number_of(library: ctypes.CDLL, name: str) -> int | None:
    """Number of a system call on this machine, or None if it has none."""
    number: int = library.seccomp_syscall_resolve_name(name.encode())
    return number if number >= 0 else None


def _add(library: ctypes.CDLL, context: int, action: int, name: str, *comparisons: _Comparison) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number == _UNKNOWN_SYSCALL:
        return
    array = (_Comparison * len(comparisons))(*comparisons)
    result = library.seccomp_rule_add_array(context, action, number, len(comparisons), array)
    _check(result, f"seccomp rule {name}")


def _check(result: int, what: str) -> None:
    if result < 0:
        raise OSError(-result, f"{what} failed")
