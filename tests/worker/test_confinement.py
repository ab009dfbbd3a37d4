"""What a confined process can't do any more. Each test confines a real child here and has it try.

What a means denies is tested where the machine has that means; elsewhere the test says which one is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.variables import of_own_folder, own_python, scrubbed
from harness.sandbox.wire.layout import scratch_folder
from harness.sandbox.wire.sandbox import Sandbox
from harness.worker.confinement import linux

TRY = """
import ctypes, json, os, socket, sys
from pathlib import Path
from harness.sandbox.wire.sandbox import Sandbox
from harness.worker.confinement import confine
import harness.worker.confinement as means
from harness.worker.confinement.linux import Unavailable
def lacks(*arguments, **options):
    raise Unavailable("not on this machine", "another machine")
for name in sys.argv[3:]:  # as on a machine without it
    place, _, function = name.rpartition(".")
    setattr(getattr(means, place) if place else means, function, lacks)
sandbox = Sandbox.from_argument(sys.argv[2])
means._GPUS += (str(sandbox.path / "gpu"),)
confined = confine(sandbox, int(sys.argv[1]))
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what):
    try:
        return repr(what())
    except OSError as error:
        return type(error).__name__
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result
found = {}
"""


class Child:
    """Runs code in a confined child; its answers are what it put into `found`."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self.folder = folder
        self.workspace = workspace
        self.active: tuple[str, ...] = ()

    def run(
        self,
        code: str,
        lacks: Sequence[str] = (),
        for_build: bool = False,
        builds_texts: bool = False,
        is_apart: bool = False,
    ) -> dict[str, Any]:
        hidden = (str(self.workspace / "solutions"), "/tmp")
        home = str(self.workspace / "home")
        sandbox = Sandbox(str(self.folder), hidden, home, os.getpid(), for_build, builds_texts, is_apart)
        ours, theirs = os.pipe()
        text = TRY + code + "\nprint(json.dumps([confined.active, found]))\n"
        with os.fdopen(ours), os.fdopen(theirs):
            done = subprocess.run(
                [*own_python("-")[:2], text, str(theirs), sandbox.to_argument(), *lacks],
                capture_output=True,
                pass_fds=[theirs],
                env={**scrubbed(os.environ, ()), **of_own_folder(self.folder, "ab")},
                cwd=scratch_folder(self.folder) / "work",
                start_new_session=True,
                timeout=60,
                check=False,
            )
        assert done.returncode == 0, done.stderr.decode()
        active, found = json.loads(done.stdout.splitlines()[-1])
        self.active = tuple(active)
        return dict(found)

    def require(self, means: str) -> None:
        if means not in self.active:
            pytest.skip(f"this machine lacks the means '{means}'")


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    folder = make_folder()
    for name in ("solutions/other", "library", "home/.ssh"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "solutions/other/solution.py").write_text("secret")
    (tmp_path / "home/.ssh/id").write_text("secret")
    yield Child(folder, tmp_path)
    remove_folder(folder)


def test_only_its_scratch_can_be_written(child: Child) -> None:
    package = Path(__file__).parents[2] / "harness" / "x.py"
    found = child.run(
        f"""
for place in ({str(child.workspace / "library" / "x")!r}, {str(package)!r}, "/tmp/x", "/etc/x",
              str(sandbox.path / "files" / "x"), str(sandbox.path / "x"), os.environ["TMPDIR"] + "/x",
              os.environ["HOME"] + "/x", "x"):
    found[place.rpartition("/")[0]] = attempt(lambda: Path(place).write_text("1"))
found["device"] = attempt(lambda: Path("/dev/null").write_text("1"))
"""
    )
    child.require("read-only files")
    scratch = scratch_folder(child.folder)
    allowed = {place for place, outcome in found.items() if outcome == "1"}
    assert allowed == {str(scratch / "tmp"), str(scratch / "home"), "", "device"}


def test_other_solutions_and_keys_cannot_be_read(child: Child) -> None:
    found = child.run(
        f"""
found["solution"] = attempt(lambda: Path({str(child.workspace / "solutions/other/solution.py")!r}).read_text())
found["names"] = attempt(lambda: os.listdir({str(child.workspace / "solutions")!r}))
found["key"] = attempt(lambda: Path({str(child.workspace / "home/.ssh/id")!r}).read_text())
found["shadow"] = attempt(lambda: Path("/etc/shadow").read_text())
found["passwd"] = attempt(lambda: len(Path("/etc/passwd").read_text()) > 9)
found["package"] = attempt(lambda: "harness" in __import__("harness.suggest").suggest.__doc__ or True)
"""
    )
    child.require("read-only files")
    denied = dict.fromkeys(("solution", "names", "key", "shadow"), "PermissionError")
    assert found == {**denied, "passwd": "True", "package": "True"}


def test_what_the_referee_lays_beside_its_scratch_can_be_read(child: Child) -> None:
    (child.folder / "files" / "solution.py").write_text("mine")
    assert child.run('found["own"] = (sandbox.path / "files" / "solution.py").read_text()') == {"own": "mine"}


@pytest.mark.parametrize(("for_build", "outcome"), [(False, "1"), (True, "PermissionError")])
def test_who_builds_cannot_open_the_gpus_devices(child: Child, for_build: bool, outcome: str) -> None:
    """Setting CUDA_VISIBLE_DEVICES anew would show it the GPU on which another worker is measured."""
    (child.folder / "gpu").touch()  # stands for /dev/nvidia0
    (child.folder / "gpu").chmod(0o666)
    found = child.run(
        """
found["gpu"] = attempt(lambda: Path(sandbox.path / "gpu").write_text("1"))
found["devices"] = [attempt(lambda: open(name, "rb").close()) for name in __import__("glob").glob("/dev/nvidia[0-9]*")]
""",
        for_build=for_build,
    )
    child.require("read-only files")
    assert found["gpu"] == outcome
    assert not for_build or set(found["devices"]) <= {"PermissionError"}


@pytest.mark.parametrize(("builds_texts", "outcome"), [(False, "'theirs'"), (True, "PermissionError")])
def test_who_builds_for_all_reads_nothing_that_another_worker_could_have_written(
    child: Child, builds_texts: bool, outcome: str
) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as shared:
        Path(shared.name).write_text("theirs")
        Path(shared.name).chmod(0o644)
        code = f'found["text"] = attempt(lambda: Path({shared.name!r}).read_text())'
        found = child.run(code, for_build=True, builds_texts=builds_texts)
    child.require("read-only files")
    assert found["text"] == outcome


def test_who_builds_for_all_sees_no_other_process(child: Child) -> None:
    code = f"""
for process in ("self", {os.getpid()}, 1):
    found[str(process)] = attempt(lambda: len(Path(f"/proc/{{process}}/cmdline").read_bytes()) > 0)
found["load"] = attempt(lambda: Path("/proc/loadavg").read_text())
"""
    found = child.run(code, for_build=True, builds_texts=True)
    child.require("read-only files")
    assert found == {
        "self": "True",
        str(os.getpid()): "PermissionError",
        "1": "PermissionError",
        "load": "PermissionError",
    }


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("builds_texts", [False, True])
def test_who_builds_still_compiles(child: Child, builds_texts: bool) -> None:
    code = """
import subprocess
Path("one.cpp").write_text('extern "C" int one() { return 1; }')
found["built"] = subprocess.run(["c++", "-shared", "-fPIC", "one.cpp", "-o", "one.so"], capture_output=True).returncode
found["one"] = ctypes.CDLL("./one.so").one()
"""
    assert child.run(code, for_build=True, builds_texts=builds_texts) == {"built": 0, "one": 1}


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_who_builds_for_all_still_compiles_for_a_gpu(child: Child) -> None:
    code = """
import subprocess
Path("one.cu").write_text('__global__ void one(int* x) { *x = 1; }')
done = subprocess.run(["nvcc", "-c", "one.cu", "-o", "one.o"], capture_output=True, text=True)
found["built"] = done.returncode or done.stderr
"""
    assert child.run(code, for_build=True, builds_texts=True) == {"built": ""}


def test_there_is_no_network(child: Child) -> None:
    found = child.run(
        """
for family in ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET"):
    found[family] = attempt(lambda: socket.socket(getattr(socket, family)))
found["pair"] = attempt(lambda: [end.close() for end in socket.socketpair()])
"""
    )
    child.require("no network")
    refused = dict.fromkeys(("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET"), "PermissionError")
    assert found == {**refused, "pair": "[None, None]"}


@pytest.mark.parametrize("is_apart", [True, False])
def test_who_is_apart_reaches_no_abstract_socket_but_its_own(child: Child, is_apart: bool) -> None:
    name = f"\0harness-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as outside:
        outside.bind(name)
        outside.listen()
        found = child.run(
            f"""
own = socket.socket(socket.AF_UNIX)
own.bind({name + "-own"!r})
own.listen()
for name in ({name!r}, {name + "-own"!r}):
    found[name[-3:]] = attempt(lambda: socket.socket(socket.AF_UNIX).connect(name))
""",
            is_apart=is_apart,
        )
    child.require("scoped signals")
    assert found == {name[-3:]: "PermissionError" if is_apart else "None", "own": "None"}


@pytest.mark.parametrize("number", ["0", "signal.SIGSTOP", "signal.SIGKILL"])
def test_the_referee_cannot_be_signalled(child: Child, number: str) -> None:
    found = child.run(
        f"""
import signal
found["referee"] = attempt(lambda: os.kill(sandbox.referee, {number}))
found["group"] = attempt(lambda: os.killpg(os.getpgid(sandbox.referee), {number}))
"""
    )
    if not {"own user", "scoped signals", "filtered system calls"} & set(child.active):
        pytest.skip("this machine lacks every means against signals")
    assert found == {"referee": "PermissionError", "group": "PermissionError"}


def test_the_referees_memory_and_environment_cannot_be_read(child: Child) -> None:
    found = child.run(
        """
for name in ("mem", "environ", "fd/0", "maps", "cwd", "root/etc/passwd"):
    path = f"/proc/{sandbox.referee}/{name}"
    found[name] = attempt(lambda: os.listdir(path) if name == "cwd" else open(path, "rb").read(1))
found["own"] = attempt(lambda: len(open("/proc/self/maps").read()) > 9)
"""
    )
    if not {"own user", "read-only files"} & set(child.active):
        pytest.skip("this machine lacks both means")
    assert found == {
        **dict.fromkeys(("mem", "environ", "fd/0", "maps", "cwd", "root/etc/passwd"), "PermissionError"),
        "own": "True",
    }


X86_64 = {"ptrace": 101, "process_vm_readv": 310, "kcmp": 312, "bpf": 321, "userfaultfd": 323, "perf_event_open": 298,
          "mount": 165, "unshare": 272, "setns": 308, "chroot": 161, "keyctl": 250, "reboot": 169, "init_module": 175,
          "open_by_handle_at": 304, "pidfd_getfd": 438, "shmget": 29, "clock_settime": 227}  # fmt: skip


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are x86_64's")
def test_instruments_of_the_kernel_are_out_of_reach(child: Child) -> None:
    found = child.run(f"found.update({{name: attempt(lambda: call(number)) for name, number in {X86_64}.items()}})")
    child.require("filtered system calls")
    assert found == dict.fromkeys(X86_64, "PermissionError")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are x86_64's")
@pytest.mark.parametrize("flag", [0x10000000, 0x20000000, 0x40000000, 0x00020000])
def test_no_namespace_can_be_made(child: Child, flag: int) -> None:
    found = child.run(f'found["clone"] = attempt(lambda: call(56, {flag} | 17, 0, 0, 0, 0))')
    child.require("filtered system calls")
    assert found == {"clone": "PermissionError"}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are x86_64's")
def test_the_second_table_of_system_calls_is_closed(child: Child) -> None:
    """A filter that looks at plain numbers alone lets 0x40000000 + number through."""
    found = child.run('found["x32"] = attempt(lambda: call(0x40000000 + 101, 0))')
    child.require("filtered system calls")
    assert found == {"x32": "PermissionError"}


def test_rights_cannot_be_had_back(child: Child) -> None:
    found = child.run(
        """
for name in ("setuid", "setgid"):
    found[name] = attempt(lambda: getattr(os, name)(0))
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
found["rights"] = int(status["CapEff"], 16) | int(status["CapPrm"], 16)
found["bounds"] = int(status["CapBnd"], 16)
found["new"] = status["NoNewPrivs"].strip()
found["core"] = __import__("resource").getrlimit(4)
"""
    )
    child.require("own user")
    read_search = 1 << 2  # for an environment below /root, if any
    assert found["setuid"] == found["setgid"] == "PermissionError"
    assert found["rights"] in (0, read_search)
    assert found["bounds"] in (0, read_search)
    assert (found["new"], found["core"]) == ("1", [0, 0])


NO_OWN_USER = ("become_own_user",)
FILTER_ALONE = ("become_own_user", "landlock.restrict")


@pytest.mark.parametrize("lacks", [NO_OWN_USER, FILTER_ALONE], ids=["no_own_user", "filter_alone"])
def test_without_a_user_of_its_own_the_referee_is_still_out_of_reach(child: Child, lacks: Sequence[str]) -> None:
    found = child.run(
        """
import signal
for name, target in (("process", sandbox.referee), ("everybody", -1), ("group", -os.getpgid(sandbox.referee))):
    found[name] = attempt(lambda: os.kill(target, signal.SIGKILL))
found["thread"] = attempt(lambda: call(234, sandbox.referee, sandbox.referee, 9))
found["limits"] = attempt(lambda: __import__("resource").prlimit(sandbox.referee, 0))
found["pace"] = attempt(lambda: os.sched_setaffinity(sandbox.referee, {0}))
found["priority"] = attempt(lambda: os.setpriority(os.PRIO_PROCESS, sandbox.referee, 19))
found["own"] = attempt(lambda: os.kill(os.getpid(), 0))
""",
        lacks,
    )
    child.require("filtered system calls")
    assert "own user" not in child.active
    names = ("process", "everybody", "group", "thread", "limits", "pace", "priority")
    assert found == {**dict.fromkeys(names, "PermissionError"), "own": "None"}


def test_a_root_that_cannot_change_users_has_no_rights_left(child: Child) -> None:
    if os.geteuid() != 0:
        pytest.skip("there are no rights to drop")
    found = child.run(
        """
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
found["rights"] = int(status["CapEff"], 16) | int(status["CapPrm"], 16) | int(status["CapBnd"], 16)
found["device"] = attempt(lambda: os.mknod("device", 0o600 | 0o020000, os.makedev(1, 3)))
""",
        NO_OWN_USER,
    )
    assert "dropped rights" in child.active
    assert found["rights"] in (0, 1 << 2)
    assert found["device"] == "PermissionError"


def test_what_is_missing_is_named_with_its_remedy(child: Child) -> None:
    found = child.run("found.update({one.name: [one.why, one.remedy] for one in confined.missing})", FILTER_ALONE)
    assert found["own user"] == found["read-only files"] == ["not on this machine", "another machine"]
    assert not {"own user", "read-only files", "scoped signals"} & set(child.active)


def test_children_are_confined_alike(child: Child) -> None:
    found = child.run(
        f"""
import subprocess
path = {str(child.workspace / "solutions/other/solution.py")!r}
found["cat"] = subprocess.run(["cat", path], capture_output=True).returncode
found["touch"] = subprocess.run(["touch", "/tmp/harness-escaped"], capture_output=True).returncode
found["own"] = subprocess.run(["sh", "-c", "echo 1 > made && cat made"], capture_output=True).stdout.decode()
"""
    )
    child.require("read-only files")
    assert found == {"cat": 1, "touch": 1, "own": "1\n"}
    assert not Path("/tmp/harness-escaped").exists()


def test_no_descriptor_is_inherited_but_its_own(child: Child) -> None:
    leaked = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    found = child.run(
        """
import subprocess
found["open"] = sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}"))
found["own"] = int(sys.argv[1])
listed = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, close_fds=False).stdout
found["of_child"] = len(listed.split())
"""
    )
    os.close(leaked)
    assert found["open"] == [0, 1, 2, found["own"]]
    assert found["of_child"] == 4  # the three, and the listed folder itself


def test_the_environment_is_scrubbed(monkeypatch: pytest.MonkeyPatch, child: Child) -> None:
    secrets = ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "https_proxy", "CUDA_API_KEY", "TORCH_TOKEN")
    for name in secrets:
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DX")
    found = child.run("found.update(os.environ)")
    assert not {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "https_proxy", "CUDA_API_KEY", "TORCH_TOKEN"} & set(
        found
    )
    assert found["NVCC_APPEND_FLAGS"] == "-DX"
    assert {found[name].startswith(str(child.folder)) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")} == {True}


def test_multiprocessing_works_inside(child: Child) -> None:
    found = child.run(
        """
import multiprocessing, threading
context = multiprocessing.get_context("fork")
queue = context.Queue()
started = context.Process(target=queue.put, args=(7,))
started.start()
found["queue"] = queue.get(timeout=30)
started.join()
thread = threading.Thread(target=lambda: found.update(thread=1))
thread.start()
thread.join()
"""
    )
    assert found == {"queue": 7, "thread": 1}


def test_a_worker_without_its_referee_ends_at_once(child: Child) -> None:
    sandbox = Sandbox(
        str(child.folder), (), "/nowhere", os.getpid() + 1
    )  # as if it had ended before the kernel was told
    text = TRY + "print('went on')"
    done = subprocess.run(
        [sys.executable, "-c", text, "0", sandbox.to_argument()],
        capture_output=True,
        cwd=Path(__file__).parents[2],
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize(("hip", "found"), [("6.4", ["/dev/kfd", "/dev/dri/renderD128"]), (None, [])])
def test_amds_gpus_are_devices_where_torch_is_built_for_them(
    monkeypatch: pytest.MonkeyPatch, hip: str | None, found: list[str]
) -> None:
    """Elsewhere a screen has the same kind of file."""
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(linux.glob, "glob", lambda pattern: ["/dev/dri/renderD128"])
    assert linux.amd_gpus() == found
