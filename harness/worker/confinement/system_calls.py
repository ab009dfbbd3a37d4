"""A filter that every later system call of this process and its children passes (seccomp(2)): what no kernel, compiler
or Python needs is refused, most of it with EPERM.

Classic BPF of our own, each rule for itself: a comparison, then the answer. The kernel keeps a table of the calls that
are allowed whatever their arguments, so that those cost nothing (Linux 5.11).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from harness.worker.confinement.linux import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, Unavailable, prctl

# Numbers on x86_64 and aarch64 (asm/unistd_64.h, asm-generic/unistd.h); None where the call is missing.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    # other processes' memory, descriptors and state
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    # the kernel's own instruments
    "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241), "fanotify_init": (300, 262),
    "syslog": (103, 116),
    # namespaces, mounts, and files by handle, which knows no folders
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    # keys, modules, the machine as a whole
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "iopl": (172, None),
    "ioperm": (173, None), "sethostname": (170, 161), "setdomainname": (171, 162),
    # clocks that the referee reads
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    # memory and messages that outlive their process
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
}  # fmt: skip
# A program then takes the older way, which the filter can judge: its arguments aren't behind a pointer or in a ring.
_NOT_THERE: dict[str, tuple[int | None, int | None]] = {
    "clone3": (435, 435), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
# A file's owner may do these also where Landlock lets it write nothing.
_CHANGES: dict[str, tuple[int | None, int | None]] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip
_IGNORED = 0
"""The answer to a call that looks as if it had been done: gcc's linker, shutil.copy() and a thread's creation go on."""
_PRCTL = (157, 167)
_SOCKET, _CLONE, _PRLIMIT = (41, 198), (56, 220), (302, 261)
_KILL, _TKILL, _TGKILL, _QUEUE, _TG_QUEUE = (62, 129), (200, 130), (234, 131), (129, 138), (297, 240)
_PIDFD_SIGNAL, _SET_AFFINITY = (424, 424), (203, 122)
_SET_SCHEDULER, _SET_PARAMETERS, _SET_ATTRIBUTES = (144, 119), (142, 118), (314, 274)
_SET_PRIORITY, _SET_IO_PRIORITY = ((141, 140), 2), ((251, 30), 3)
"""Each with what stands for all of a user's processes: PRIO_USER, IOPRIO_WHO_USER."""

_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET, linux/sched.h
_OF_PARENT = 0x00008000  # CLONE_PARENT: children of who started the worker, which would have to reap them
_AF_UNIX = 1
_X32 = 0x40000000  # x86_64's second table of the same calls
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/bpf_common.h
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000  # linux/seccomp.h
_OF_ARCHITECTURE = 4
_OF_ARGUMENT = 16


@dataclass(frozen=True)
class _Machine:
    index: int
    """The index into the pairs of numbers above."""
    audit: int
    """The AUDIT_ARCH_* of linux/audit.h."""


_MACHINES = {"x86_64": _Machine(0, 0xC000003E), "aarch64": _Machine(1, 0xC00000B7)}


def filter_calls(protected: Collection[int], ignores_changes: bool = False) -> None:
    """Install the filter. `protected` are processes of the same user, with their groups, that mustn't be signalled; no
    other one may be slowed or limited, either. None where another user's rights see to that. `ignores_changes`: of
    files' modes, owners, times and attributes. Raises: Unavailable."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise Unavailable(f"no table of system calls for {platform.machine()}", "an x86_64 or aarch64 machine")
    program = b"".join(_program(machine, protected, _CHANGES if ignores_changes else {}))
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer)))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    try:
        prctl(PR_SET_SECCOMP, 2, ctypes.addressof(header))
    except OSError as error:
        raise Unavailable(
            f"the kernel takes no filter ({error.strerror})", "a kernel with CONFIG_SECCOMP_FILTER"
        ) from None


def _program(
    machine: _Machine, protected: Collection[int], ignored: Mapping[str, tuple[int | None, int | None]]
) -> list[bytes]:
    refuse = _return(errno.EPERM)
    code = [_step(_LOAD, _OF_ARCHITECTURE), _step(_EQUAL, machine.audit, 1, 0), refuse, _step(_LOAD, 0)]
    code += [_step(_AT_LEAST, _X32, 0, 1), refuse]
    for numbers, answer in ((_REFUSED, errno.EPERM), (_NOT_THERE, errno.ENOSYS), (ignored, _IGNORED)):
        for pair in numbers.values():
            if (number := pair[machine.index]) is not None:
                code += [_step(_EQUAL, number, 0, 1), _return(answer)]
    code += _unless(_SOCKET[machine.index], 0, [_AF_UNIX], errno.EACCES)
    code += _unless(_PRLIMIT[machine.index], 0, [0], errno.EPERM)
    code += _when(_CLONE[machine.index], 0, _ANY_BIT, [_NEW_NAMESPACES | _OF_PARENT])
    code += _when(_PRCTL[machine.index], 0, _EQUAL, [PR_SET_DUMPABLE], _IGNORED)  # the referee looks what it holds
    if protected:
        code += _protection(machine, protected)
    return [*code, _step(_RETURN, _ALLOW)]


def _protection(machine: _Machine, processes: Collection[int]) -> list[bytes]:
    groups = {-os.getpgid(process) & 0xFFFFFFFF for process in processes}
    targets = [*processes, *(-process & 0xFFFFFFFF for process in processes), *groups, 0xFFFFFFFF]
    code = []
    for pair in (_KILL, _QUEUE):
        code += _when(pair[machine.index], 0, _EQUAL, targets)
    for pair in (_TGKILL, _TG_QUEUE, _SET_AFFINITY):
        code += _when(pair[machine.index], 0, _EQUAL, processes)
    itself = (0, os.getpid())
    for pair in (_SET_SCHEDULER, _SET_PARAMETERS, _SET_ATTRIBUTES):
        code += _unless(pair[machine.index], 0, itself, errno.EPERM)
    for pair, everybody in (_SET_PRIORITY, _SET_IO_PRIORITY):
        code += _when(pair[machine.index], 0, _EQUAL, [everybody])
        code += _unless(pair[machine.index], 1, itself, errno.EPERM)
    code += _unless(_SET_AFFINITY[machine.index], 0, itself, _IGNORED)  # a thread may be pinned by who creates it
    for pair in (_TKILL, _PIDFD_SIGNAL):  # they name a thread or a descriptor, and could name theirs
        code += [_step(_EQUAL, pair[machine.index], 0, 1), _return(errno.EPERM)]
    return code


def _unless(number: int, argument: int, values: Collection[int], answer: int) -> list[bytes]:
    body = [_step(_LOAD, _OF_ARGUMENT + 8 * argument)]
    body += [_step(_EQUAL, value, left, 0) for left, value in zip(range(len(values), 0, -1), values, strict=True)]
    body += [_return(answer), _step(_LOAD, 0)]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _when(number: int, argument: int, test: int, values: Collection[int], answer: int = errno.EPERM) -> list[bytes]:
    body = [_step(_LOAD, _OF_ARGUMENT + 8 * argument)]
    for value in values:
        body += [_step(test, value, 0, 1), _return(answer)]
    body.append(_step(_LOAD, 0))
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _return(code: int) -> bytes:
    return _step(_RETURN, _ERRNO | code)


def _step(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", operation, if_true, if_false, value)
