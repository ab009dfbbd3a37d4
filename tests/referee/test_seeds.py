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
    tries: list[tuple[int | str, ...]] = [(0,), (1,), (0, "anew"), (0, "mode 1"), (0, "mode 2"), (1, "mode 1")]
    settings = [prepare_setting(load_problem(tmp_path), "full", 1, "cpu", tries=one) for one in tries]
    assert len({one.seed("inputs", 0) for one in settings}) == len(tries)
    assert len({one.construction_seed for one in settings}) == 1
    assert settings[0].seed("inputs", 0) == prepare_setting(load_problem(tmp_path), "full", 1, "cpu").seed("inputs", 0)
