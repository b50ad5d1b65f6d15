"""The cell's system-call filter: a short list of what pure computation needs; everything else fails with EPERM.

An allow-list, because a new kernel brings new calls. There is no fork, thread, socket, ptrace, mount, namespace, bpf,
io_uring, keyring or memfd in it. RLIMIT_NPROC is no substitute: gVisor counts it per user over the whole pod.
Built with libseccomp, which knows the numbers of each architecture and refuses foreign ones.
"""

import ctypes
import errno

ALLOWED: tuple[str, ...] = (
    # the one socket, scratch files
    "read", "write", "readv", "writev", "pread64", "pwrite64", "close", "lseek", "fstat", "newfstatat", "stat", "lstat",
    "statx", "open", "openat", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "getdents64",
    "fcntl", "dup", "ftruncate", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2",
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

_ACT_ALLOW = 0x7FFF0000
_ACT_ERRNO = 0x00050000
_UNKNOWN_SYSCALL = -1
"""libseccomp's __NR_SCMP_ERROR: this architecture has no such call (`open` on arm64)."""


def load_library() -> ctypes.CDLL:
    """libseccomp 2; raises OSError when the image lacks it."""
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p,
    ]  # fmt: skip
    library.seccomp_load.argtypes = [ctypes.c_void_p]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    return library


def install(library: ctypes.CDLL, allowed: tuple[str, ...] = ALLOWED) -> None:
    """Filter this process from now on. Irreversible; needs no_new_privs or CAP_SYS_ADMIN.

    The library is loaded beforehand, because a cell has no files to load it from. Raises OSError.
    """
    context = library.seccomp_init(_ACT_ERRNO | errno.EPERM)
    if not context:
        raise OSError(errno.ENOMEM, "seccomp_init failed")
    try:
        for name in allowed:
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number == _UNKNOWN_SYSCALL:
                continue
            _check(library.seccomp_rule_add_array(context, _ACT_ALLOW, number, 0, None), f"seccomp rule {name}")
        _check(library.seccomp_load(context), "seccomp_load")
    finally:
        library.seccomp_release(context)


def number_of(library: ctypes.CDLL, name: str) -> int | None:
    """Number of a system call on this machine, or None if it has none."""
    number: int = library.seccomp_syscall_resolve_name(name.encode())
    return number if number >= 0 else None


def _check(result: int, what: str) -> None:
    if result < 0:
        raise OSError(-result, f"{what} failed")
