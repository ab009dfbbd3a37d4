"""Stand-ins for the libraries of CUDA that a torch is linked to; the torch is three libraries of a few lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cudasim.stand_ins import Definition, SymbolReference, read_library, stand_ins
from harness.cudasim.toolkit import Toolkit

pytestmark = pytest.mark.sim

CUDART = 'extern "C" int cudaGetDevice(int* device) { *device = 0; return 0; }'
CUDART_VERSIONS = "libcudart.so.12 { global: cudaGetDevice; local: *; };"
TORCH_CUDA = """
namespace at::cuda {
struct Options { virtual ~Options(); Options(); long a[8]; };
Options::Options() { a[0] = 1; }
Options::~Options() {}
int& first() { static int one = 1; return one; }
long counters[5] = {1, 2, 3, 4, 5};
int unused() { return 3; }
}
"""
TORCH_PYTHON = """
#include <exception>
#include <string>
#include <typeinfo>
extern "C" int cudaGetDevice(int*);
extern "C" void PyErr_Clear();
namespace at::cuda {
struct Options { virtual ~Options(); Options(); long a[8]; };
int& first();
extern long counters[5];
}
extern "C" int reference() { return at::cuda::first(); }
extern "C" long counter() { return at::cuda::counters[4]; }
extern "C" const char* type() { return typeid(at::cuda::Options).name(); }
extern "C" bool made() { auto* options = new at::cuda::Options; delete options; return true; }
extern "C" const char* device() {
  static std::string said;
  int device;
  try { cudaGetDevice(&device); said = "a device"; } catch (const std::exception& error) { said = error.what(); }
  return said.c_str();
}
extern "C" void python() { PyErr_Clear(); }
"""

USE = """
import ctypes, sys
runtime, *libraries = [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in sys.argv[1:]]
torch = libraries[-1]
torch.device.restype = torch.type.restype = ctypes.c_char_p
print(torch.reference(), torch.counter(), torch.type().decode(), bool(torch.made()))
runtime.sim_torch_is_loaded()
print(torch.device().decode())
"""


def link(folder: Path, name: str, source: str, soname: str, *others: str) -> None:
    (folder / f"{name}.cpp").write_text(source)
    command = ["g++", "-shared", "-fPIC", "-std=c++17", f"{name}.cpp", "-o", name, f"-Wl,-soname,{soname}", *others]
    subprocess.run(command, cwd=folder, check=True, timeout=120)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lib")
    (folder / "versions").write_text(CUDART_VERSIONS)
    link(folder, "libcudart.so.12", CUDART, "libcudart.so.12", "-Wl,--version-script,versions")
    link(folder, "libtorch_cuda.so", TORCH_CUDA, "libtorch_cuda.so")
    real = ("./libcudart.so.12", "./libtorch_cuda.so")
    link(folder, "libtorch_python.so", TORCH_PYTHON, "libtorch_python.so", *real)
    return folder


def test_library_says_what_it_needs_and_offers(libraries: Path) -> None:
    library = read_library(libraries / "libtorch_python.so")
    assert {"libcudart.so.12", "libtorch_cuda.so", "libstdc++.so.6"} <= set(library.needed)
    assert SymbolReference("cudaGetDevice", "libcudart.so.12", "libcudart.so.12") in library.undefined
    assert SymbolReference("PyErr_Clear") in library.undefined
    assert library.defined["counter"].is_function
    assert read_library(libraries / "libtorch_cuda.so").defined["_ZN2at4cuda8countersE"] == Definition(False, 40)


def test_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "libx.so").write_text("INPUT(-ly) /* a linker script, as some libraries are */")
    with pytest.raises(ValueError, match=r"libx\.so .*shared library"):
        read_library(tmp_path / "libx.so")


def test_stand_ins_hold_what_torch_asks_of_cuda_alone(libraries: Path) -> None:
    found = {
        one.soname: {version: set(names) for version, names in one.versions.items()} for one in stand_ins(libraries)
    }
    assert found == {
        "libcudart.so.12": {"libcudart.so.12": {"cudaGetDevice"}},
        "libtorch_cuda.so": {
            "": {
                "_ZN2at4cuda5firstEv",
                "_ZN2at4cuda7OptionsC1Ev",
                "_ZN2at4cuda8countersE",
                "_ZTIN2at4cuda7OptionsE",
            }
        },
    }


def test_torch_runs_on_stand_ins(libraries: Path, toolkit: Toolkit, tmp_path: Path) -> None:
    made = []
    for one in stand_ins(libraries):
        (tmp_path / "a.s").write_text(one.assembly())
        (tmp_path / "versions").write_text(one.version_script())
        made.append(tmp_path / f"{one.soname}.file")
        script = [f"-Wl,--version-script,{tmp_path}/versions"] if one.version_script() else []
        command = ["g++", "-shared", str(tmp_path / "a.s"), "-o", str(made[-1]), f"-Wl,-soname,{one.soname}", *script]
        subprocess.run([*command, f"-L{toolkit.libraries}", "-lcudart"], check=True, timeout=120)
    loaded = [toolkit.runtime, *made, libraries / "libtorch_python.so"]
    run = subprocess.run([sys.executable, "-c", USE, *map(str, loaded)], capture_output=True, text=True, timeout=120)
    assert run.stderr == ""
    assert run.stdout.splitlines() == [
        "0 0 N2at4cuda7OptionsE True",
        "harness-sim-unsupported: cudaGetDevice of a CUDA build of torch",
    ]
