"""The memory that is left, of the machine and of the groups that this process is in."""

from __future__ import annotations

from pathlib import Path

from harness.sandbox.memory import _left_of_groups, available_bytes, oom_kills

GIB = 2**30


def group(folder: Path, names: tuple[str, str], limit: object, used: int, stat: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(stat)


def test_every_group_with_a_limit_counts(tmp_path: Path) -> None:
    names = ("memory.max", "memory.current")
    group(tmp_path / "a" / "b", names, "max", GIB)
    group(tmp_path / "a", names, 4 * GIB, 3 * GIB, f"anon 7\ninactive_file {GIB}\n")
    (tmp_path / "named").write_text("0::/a/b\n")
    assert list(_left_of_groups(tmp_path, tmp_path / "named")) == [2 * GIB]


def test_the_older_groups_count_as_well(tmp_path: Path) -> None:
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    group(tmp_path / "memory", names, 2**63 - 4096, GIB)
    group(tmp_path / "memory" / "box", names, 2 * GIB, 3 * GIB)
    (tmp_path / "named").write_text("5:devices:/\n4:memory:/box\n")
    assert min(_left_of_groups(tmp_path, tmp_path / "named")) == 0


def test_without_groups_nothing_is_said_of_them(tmp_path: Path) -> None:
    assert list(_left_of_groups(tmp_path, tmp_path / "none")) == []


def test_this_machine_says_what_it_has() -> None:
    assert 0 < available_bytes() < 2**50
    assert oom_kills() >= 0
