"""One master seed, and every other derived from it."""

from __future__ import annotations

from pathlib import Path

from harness.referee.setting import derive, draw_master_seed, prepare_setting
from harness.workspace.problem import load_problem
from tests.referee.test_correctness import DOUBLE


def test_seeds_stay_the_same_between_versions() -> None:
    """Or `--seed` would no longer reproduce a record."""
    assert derive(42, "maxpool2d", "small", "inputs", 1) == 1739823244240238687


def test_every_part_of_the_purpose_matters() -> None:
    seeds = [
        derive(5, "a", "inputs", 0),
        derive(6, "a", "inputs", 0),
        derive(5, "b", "inputs", 0),
        derive(5, "a", "timed", 0),
        derive(5, "a", "inputs", 1),
        derive(5, "a", "inputs", "1"),
        derive(5, "ainputs", 1),
    ]
    assert len(set(seeds)) == 7


def test_a_seed_fits_into_63_bits() -> None:
    assert all(0 <= derive(5, number) < 2**63 for number in range(200))
    assert all(0 <= draw_master_seed() < 2**63 for _ in range(200))


def test_master_seeds_differ() -> None:
    assert len({draw_master_seed() for _ in range(50)}) == 50


def test_another_try_has_other_inputs_and_the_same_weights(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(DOUBLE)
    first, second = (prepare_setting(load_problem(tmp_path), "full", 1, "cpu", tries=tries) for tries in (0, 1))
    assert first.seed("inputs", 0) != second.seed("inputs", 0)
    assert first.construction_seed == second.construction_seed
