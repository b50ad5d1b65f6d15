"""The few Linux calls that Python 3.11 does not offer, by ctypes. Each raises OSError with the call's name."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 0x2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39

SECCOMP_MODE_FILTER = 2
_INSTRUCTION_BYTES = 8
"""Of a BPF program."""

SYSLOG_ACTION_READ_ALL = 3

_LIBC = ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Leave the caller's namespaces of these kinds; CLONE_NEWPID concerns its next child."""
    _check(_LIBC.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2)."""
    arguments = (source.encode(), target.encode(), kind.encode())
    data = options.encode() if options else None
    _check(_LIBC.mount(*arguments, ctypes.c_ulong(flags), data), f"mount {kind or source} on {target}")


def pivot_to_working_directory() -> None:
    """Make the working directory, a mount point, the root, and drop the old root with all that was under it."""
    _check(_LIBC.pivot_root(b".", b"."), "pivot_root")
    _check(_LIBC.umount2(b".", ctypes.c_int(MNT_DETACH)), "umount2")
    os.chdir("/")


def prctl(option: int, value: int = 0, second: int = 0) -> int:
    """prctl(2) with one or two arguments."""
    zero = ctypes.c_ulong(0)
    return _check(_LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), ctypes.c_ulong(second), zero, zero), "prctl")


class _FilterProgram(ctypes.Structure):
    """sock_fprog."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def filter_calls(program: bytes) -> None:
    """Filter this process's system calls by a BPF program from now on; needs no_new_privs or CAP_SYS_ADMIN."""
    whole = _FilterProgram(len(program) // _INSTRUCTION_BYTES, program)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(whole))


def sethostname(name: str) -> None:
    """sethostname(2)."""
    _check(_LIBC.sethostname(name.encode(), ctypes.c_size_t(len(name))), "sethostname")


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapabilityData(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


_CAPABILITY_VERSION_3 = 0x20080522


def drop_capabilities() -> None:
    """Give up every capability of this process for good."""
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    data = (_CapabilityData * 2)()
    _check(_LIBC.capset(ctypes.byref(header), data), "capset")


def kernel_log(limit_bytes: int = 4096) -> str:
    """Beginning of the kernel's log as far as this process may read it; empty where it may not."""
    buffer = ctypes.create_string_buffer(limit_bytes)
    length = _LIBC.klogctl(ctypes.c_int(SYSLOG_ACTION_READ_ALL), buffer, ctypes.c_int(limit_bytes))
    return buffer.raw[: max(length, 0)].decode("utf-8", "replace")


def syscall(number: int, *arguments: int) -> int:
    """A raw system call with integer arguments; used to try the walls."""
    return _check(_LIBC.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments)), f"syscall {number}")
