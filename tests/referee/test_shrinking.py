"""The small case that is made for a problem with its full shape alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import pytest

from harness.referee.setting import Setting
from harness.referee.shrinking import SHRUNK, with_bearable_case, with_fitting_case, with_shrunk_case
from tests.problem_text import problem_text
from tests.referee.in_process import setting_of


def product(constants: str, a: str = "M, K", b: str = "K, N", forward: str = "torch.relu(a @ b)") -> str:
    return problem_text(forward, f"torch.rand({a}), torch.rand({b})", constants=constants, given="a, b")


def shrunk(folder: Path, constants: str, a: str = "M, K", b: str = "K, N") -> Mapping[str, object] | None:
    return next(all_shrunk(setting_of(folder, product(constants, a, b))), None)


def all_shrunk(setting: Setting) -> Iterator[Mapping[str, object]]:
    return (problem.cases[SHRUNK].constants for problem in with_shrunk_case(setting))


def test_sizes_keep_their_ratios(tmp_path: Path) -> None:
    assert shrunk(tmp_path, "M = 1024\nK = 4096\nN = 2048") == {"M": 128, "K": 512, "N": 256}


def test_sizes_keep_their_odd_remainders(tmp_path: Path) -> None:
    found = shrunk(tmp_path, "M = 8205\nK = 2949\nN = 5921")
    assert found is not None
    assert {name: int(str(value)) % 32 for name, value in found.items()} == {"M": 13, "K": 5, "N": 1}


def test_batches_are_shrunk_and_small_numbers_kept(tmp_path: Path) -> None:
    sizes = "batch_size = 129\nM = 1024\nK = 1024\nN = 7"
    found = shrunk(tmp_path, sizes, "batch_size, M, K", "batch_size, K, N")
    assert found == {"batch_size": 9, "M": 64, "K": 64}


def test_constants_made_of_others_follow(tmp_path: Path) -> None:
    found = shrunk(tmp_path, "M = 1024\nK = M * 2\nN = K", "M, K", "K, N")
    assert found == {"M": 128}


def test_names_that_share_a_value_shrink(tmp_path: Path) -> None:
    assert shrunk(tmp_path, "M = K = 4096\nN = 2048") == {"M": 256, "K": 256, "N": 128}


def test_sizes_on_which_the_reference_fails_are_not_taken(tmp_path: Path) -> None:
    source = product("M = 4096\nN = 4096", "M, 4096", "4096, N", "assert a.shape[0] >= 4096\nreturn a @ b")
    assert list(with_shrunk_case(setting_of(tmp_path, source))) == []


def test_smaller_cases_follow(tmp_path: Path) -> None:
    sizes = all_shrunk(setting_of(tmp_path, product("M = 1024\nK = 4096\nN = 2048")))
    assert list(islice(sizes, 2)) == [{"M": 128, "K": 512, "N": 256}, {"M": 64, "K": 256, "N": 128}]


def test_shapes_that_no_constant_names_stay(tmp_path: Path) -> None:
    assert shrunk(tmp_path, "rate = 0.5", "4096, 4096", "4096, 4096") is None


def grouped(inputs: str) -> str:
    """A problem with a group of 32 in the module and all other sizes in `get_inputs`."""
    forward = "return (a.view(-1, GROUP, a.shape[1]) * b[:, None]).view(a.shape)"
    source = problem_text(forward, "torch.rand(M, N), torch.rand(M // GROUP, N)", constants="GROUP = 32", given="a, b")
    return source.replace("def get_inputs():\n", f"def get_inputs():\n    {inputs}\n")


def test_sizes_that_only_the_inputs_know_are_shrunk(tmp_path: Path) -> None:
    found = all_shrunk(setting_of(tmp_path, grouped("M, N = 4096, 8192")))
    assert next(found) == {"M": 128, "N": 256}


def test_constants_of_the_module_are_shrunk_only_after_those_of_the_inputs(tmp_path: Path) -> None:
    found = [set(constants) for constants in all_shrunk(setting_of(tmp_path, grouped("M = 4096\n    N = M * 2")))]
    assert found[0] == {"M"}
    assert found[-1] == {"M", "GROUP"}
    assert found == sorted(found, key=len)


def test_a_case_may_be_larger_where_the_constants_of_the_module_stay(tmp_path: Path) -> None:
    """Weights of 4 MiB, and of a batch two items."""
    source = product("WIDE = 1024", "B, WIDE", "WIDE, WIDE").replace(
        "def get_inputs():\n", "def get_inputs():\n    B = 4096\n"
    )
    found = list(all_shrunk(setting_of(tmp_path, source)))
    assert found[0] == {"B": 256}
    assert {"B": 2} in found
    assert all(constants.keys() == {"B"} or constants["WIDE"] < 1024 for constants in found)


@pytest.mark.parametrize(
    ("shape", "constants"),
    [("batch_size, 500_000", [{"batch_size": 2}]), ("batch_size, 5_000_000", [])],
)
def test_what_is_never_small_has_a_case_that_can_be_run_whole(
    tmp_path: Path, shape: str, constants: list[dict[str, int]]
) -> None:
    setting = setting_of(tmp_path, problem_text("x * 2", f"torch.rand({shape})", constants="batch_size = 64"))
    assert list(with_shrunk_case(setting)) == []
    assert [problem.cases[SHRUNK].constants for problem in with_bearable_case(setting)] == constants


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("TILE = 64", None),
        ("k128[i]", None),
        ("WIDE = 128", {"M": 512, "K": 2048}),
        ("1024 x 128", {"K": 1024}),
        ("128 x 1024 x 4096", None),
    ],
)
def test_sizes_that_a_solution_names_can_be_kept(tmp_path: Path, text: str, first: Mapping[str, object] | None) -> None:
    setting = setting_of(tmp_path, product("M = 1024\nK = 4096\nN = 128"))
    found = (problem.cases[SHRUNK].constants for problem in with_fitting_case(setting, ["", text]))
    assert next(found, None) == first
