"""What the referee reads of a solution's files."""

from __future__ import annotations

import pytest

from harness.cudasim.cuda_in_files import beyond_simulator, cuda_texts
from harness.model.languages import OF_GPUS_ALONE, python_languages_in
from harness.workspace.workspace import Workspace
from tests.machine import ROOT

KERNEL = "__global__ void kernel() { %s }"


def test_of_python_only_what_stands_in_quotes_is_cuda() -> None:
    python = 'x = """a;"""  # "no"\ny = \'b\' + "c" + f\'\'\'d{"no"}\'\'\'\n'
    assert cuda_texts({"solution.py": python, "k.cu": "e", "NOTES.md": "f"}) == ['a;\n;\nb\n;\nc\n;\nd{"no"}', "e"]


def test_strings_side_by_side_are_one_and_their_escapes_are_read() -> None:
    python = (
        'x = (\n    "__global__ void k() {\\n"  # a note\n\n    "  asm(\\"exit;\\");\\n"\n    "}"\n)\ny = "z" "\\d"\n'
    )
    (text,) = cuda_texts({"solution.py": python})
    assert text == '__global__ void k() {\n  asm("exit;");\n}\n;\nz\\d'
    assert beyond_simulator({"solution.py": python}) == {"inline PTX (asm)"}


def test_what_is_no_python_is_read_as_far_as_it_is() -> None:
    assert cuda_texts({"solution.py": 'x = "a"\ny = (\n'}) == ["a"]


@pytest.mark.parametrize(
    ("statement", "construct"),
    [
        ('asm volatile("tcgen05.fence::before_thread_sync;");', "inline PTX (asm)"),
        ("cudaGraphLaunch(graph, stream);", "CUDA graphs in C++"),
        ("thrust::sort(a, b);", "Thrust"),
        ("tex2D(x, y);", "textures and surfaces"),
    ],
)
def test_what_the_simulator_refuses_is_found_in_cuda(statement: str, construct: str) -> None:
    cuda = KERNEL % statement
    assert beyond_simulator({"k.cu": cuda}) == {construct}
    assert beyond_simulator({"solution.py": f'CUDA = r"""\n{cuda}\n"""'}) == {construct}


def test_a_header_counts_where_it_is_used() -> None:
    included = "#include <curand_kernel.h>\n" + KERNEL
    assert beyond_simulator({"k.cu": included % ""}) == set()
    assert beyond_simulator({"k.cu": included % "curand_init(1, 2, 3, &state);"}) == {"cuRAND"}


def test_words_about_it_are_nothing_that_is_refused() -> None:
    comments = KERNEL % '/* asm("") */ puts("asm"); // asm()\n box.asm = 1;'
    assert beyond_simulator({"k.cu": comments, "NOTES.md": KERNEL % "asm();"}) == set()
    assert beyond_simulator({"solution.py": '"""Without asm or thrust::sort()."""\n# __global__ asm\n'}) == set()


def test_python_s_graphs_are_simulated() -> None:
    assert beyond_simulator({"solution.py": "import torch\ng = torch.cuda.CUDAGraph()\n"}) == set()


def test_a_text_without_an_end_is_read_once() -> None:
    for piece in ("/* ", "asm(", '"', "'", '"""', "#include <", "asm ", "a"):
        beyond_simulator({"k.cu": KERNEL + piece * 30_000, "solution.py": piece * 30_000})


@pytest.mark.parametrize("statement", ["@%%none exit;", "@a,b exit;", "@p " * 2_000 + "exit;", "a: " * 2_000 + "exit;"])
def test_instructions_that_are_none_are_not_simulated(statement: str) -> None:
    assert beyond_simulator({"k.cu": KERNEL % f'asm("{statement}");'}) == {"inline PTX (asm)"}


MACROS = {
    "a chain": "".join(f"#define M{n} M{n + 1}\n" for n in range(10_000)) + "#define M10000 asm(x\nM0",
    "calls in calls": "#define M(a) a asm\n" + "M(" * 2_000 + ")" * 2_000,
    "a product": f"#define M(a) {'a ' * 50_000}\nasm(M({'b ' * 1_900}));",
    "long ones": f"#define M {'a ' * 9_000} asm(x)\n" + "M;" * 30_000,
    "calls without an end": "#define M(a) asm(x\n" + "M(" * 30_000,
    "definitions of nothing": "#define\n" * 30_000,
}


@pytest.mark.parametrize("macros", MACROS.values(), ids=MACROS)
def test_macros_of_any_kind_are_read_at_once(macros: str) -> None:
    beyond_simulator({"k.cu": KERNEL % 'asm("");' + macros})


@pytest.mark.parametrize("piece", ["/* ", 'R"a(', '\\"', "\\'", "#define\n", "M "])
def test_a_text_with_asm_and_without_an_end_is_read_once(piece: str) -> None:
    beyond_simulator({"k.cu": f"#define M asm(x\n{KERNEL % 'asm();'}" + piece * 100_000})


@pytest.mark.parametrize("problem", Workspace(ROOT).problem_names())
def test_own_solutions_need_a_gpu_for_what_is_in_their_files(problem: str) -> None:
    for solution in Workspace(ROOT).solutions(problem):
        is_of_gpus = any(one in OF_GPUS_ALONE for one in python_languages_in(solution.texts()))
        assert bool(beyond_simulator(solution.texts()) or is_of_gpus) == solution.about.needs_gpu, solution.name
