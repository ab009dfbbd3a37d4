"""Pictures as files: what stands in them, under which names, and what is said where there can be none."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.errors import MachineError, UsageError
from harness.model.arms import ArmName, Baseline
from harness.model.evaluation import Evaluation, Work
from harness.model.timing import Timing, Turn
from harness.reports.pictures import draw_pictures, speed_words
from tests.examples import failed, passed, sim_environment, timing, with_light
from tests.wording import tells

POOLING, CONVOLUTION = Work(4_290_000_000, None), Work(790_000_000, 583_000_000_000)
MIXED = Work(4_290_000_000, None, 2_500_000_000)


def scripted(baselines: tuple[Baseline, ...] = ("eager",), outlier_ns: int | None = None) -> Timing:
    """Eight blocks of two calls a turn around 3 ms for baselines and 1 ms for the solution."""
    noise = random.Random(3)
    arms: tuple[ArmName, ...] = (*baselines, "solution")
    turns = []
    for block in range(8):
        for arm in (*arms, *reversed(arms)):
            base = 1_000_000 if arm == "solution" else 3_000_000
            calls = tuple(base + noise.randrange(2000) for _ in range(2))
            turns.append(Turn(arm, block, calls, sum(calls) + 50))
    if outlier_ns:
        turns[-1] = replace(turns[-1], call_ns=(outlier_ns, 3_000_000))
    return Timing("full", tuple(turns), baselines)


def written(evaluation: Evaluation, folder: Path, formats: list[str]) -> list[Path]:
    return [Path(name) for name in draw_pictures(evaluation, folder, formats)["files"]]


@pytest.fixture
def texts(tmp_path: Path):  # type: ignore[no-untyped-def]
    """All texts of the SVGs of an evaluation, by the kind of picture."""

    def read(evaluation: Evaluation) -> dict[str, list[str]]:
        files = written(evaluation, tmp_path, ["svg"])
        return {path.stem.rpartition("-")[2]: _texts(path) for path in files}

    return read


def _texts(path: Path) -> list[str]:
    return [
        " ".join("".join(one.itertext()).split()) for one in ElementTree.parse(path).iter() if one.tag[-5:] == "}text"
    ]


def test_samples_say_what_was_measured(texts) -> None:  # type: ignore[no-untyped-def]
    said = texts(passed(timing=scripted(outlier_ns=3_100_000)))["samples"]
    assert "maxpool2d / tiled" in said
    assert any(text.startswith("faster than eager: ") for text in said)
    assert any(tells(text, "NVIDIA H100 80GB HBM3", "torch 2.11.0+cu130", "full", "2026-11-21") for text in said)
    assert any(tells(text, "all arms", "gpu_cold", "log axis") for text in said)  # from 1 to 3.1 ms
    assert "ms per call" in said
    assert any(tells(text, "call", "order", "8 blocks") for text in said)
    facts = [text for text in said if text.startswith("median ") and "32 calls" in text]
    assert len(facts) == 2
    assert tells(facts[0], "32 calls", "1 outlier", "3.1 %", "1 beyond")
    assert tells(facts[1], "32 calls", "0 outliers")


def test_every_arm_has_its_panel(texts) -> None:  # type: ignore[no-untyped-def]
    baselines: tuple[Baseline, ...] = ("eager", "compile", "compile-max-autotune", "cudnn-benchmark", "channels-last")
    said = texts(with_light(passed(timing=scripted(baselines)), CONVOLUTION))
    for arm in (*baselines, "solution"):
        assert said["samples"].count(arm) == 2  # among all arms, and its own panel
        assert said["roofline"].count(arm) == 1
    assert len([text for text in said["samples"] if text.startswith("median ") and "32 calls" in text]) == 6


def test_fresh_processes_are_explained_where_there_are_any(texts) -> None:  # type: ignore[no-untyped-def]
    assert "fresh processes" not in texts(passed(timing=scripted()))["samples"]
    assert "fresh processes" in texts(passed(timing=replace(scripted(), fresh_at=(4,))))["samples"]


def test_a_roofline_names_every_ceiling_and_rate(texts) -> None:  # type: ignore[no-untyped-def]
    # the solution declares nothing, and torch's switches let the reference compute in tf32
    said = texts(with_light(passed(timing=timing()), CONVOLUTION))["roofline"]
    for expected in (
        "memory: in theory 3.35, write 3.29, read 3.09, copy 3.03 TB/s",
        "inside L2: copy 5 TB/s",
        "as measured: float32 60.0 TFLOP/s",
        "as measured: tf32 350 TFLOP/s",
        "as measured: bfloat16 777 TFLOP/s",
        "738 FLOP/B",
        "floating-point operations per byte that a call can't do without (583 GFLOP over 790 MB)",
        "583 TFLOP/s, 790 GB/s",
        "167 % of tf32",
        "bold: what bounds the solution, memory and tf32",
    ):
        assert expected in said


def test_without_operations_bytes_stand_against_memory(texts) -> None:  # type: ignore[no-untyped-def]
    said = texts(with_light(passed(timing=timing(solution_ns=2_000_000)), MIXED))["roofline"]
    for expected in (
        "memory: copy 3.03 TB/s",
        "memory: read 3.09 TB/s",
        "memory: write 3.29 TB/s",
        "memory: in theory 3.35 TB/s",
        "inside L2: copy 5 TB/s",
        "bytes that a call can't do without (4.29 GB), per second",
        "2.15 TB/s",
        "64 % of memory",
    ):
        assert expected in said
    assert not any("FLOP" in text for text in said)


@pytest.mark.parametrize("work", [POOLING, CONVOLUTION])
def test_unknown_ceilings_are_said_to_be_unknown(texts, work: Work) -> None:  # type: ignore[no-untyped-def]
    said = texts(passed(timing=timing(), work=work))["roofline"]
    assert any(tells(text, "no ceilings") for text in said)
    assert not any("matrix product" in text or "memory" in text for text in said)


def test_a_record_without_work_has_no_roofline(texts) -> None:  # type: ignore[no-untyped-def]
    assert list(texts(passed(timing=timing()))) == ["samples"]


def test_the_same_evaluation_gives_the_same_svg(tmp_path: Path) -> None:
    evaluation = with_light(passed(timing=scripted()), CONVOLUTION)
    first, second = (written(evaluation, tmp_path / name, ["svg"]) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_files_are_named_after_the_evaluation(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = written(passed(timing=timing(), work=POOLING), tmp_path / "new" / "folder", ["svg", "png"])
    assert [path.relative_to(tmp_path).as_posix() for path in files] == [
        "new/folder/maxpool2d-tiled-b1084b09-samples.svg",
        "new/folder/maxpool2d-tiled-b1084b09-samples.png",
        "new/folder/maxpool2d-tiled-b1084b09-roofline.svg",
        "new/folder/maxpool2d-tiled-b1084b09-roofline.png",
    ]
    assert [path.read_bytes()[:4] for path in files] == [b"<?xm", b"\x89PNG"] * 2


def test_hostile_names_are_drawn_and_lead_nowhere_else(tmp_path: Path) -> None:
    evaluation = passed("../../$x^", timing=timing(), id="20261121T000000-/etc")
    hostile = replace(evaluation, problem=replace(evaluation.problem, name="</svg>\x00\u202e"))
    (path,) = written(hostile, tmp_path, ["svg"])
    assert path == tmp_path / "_svg_-_.._x_-_etc-samples.svg"
    ElementTree.parse(path)


def test_one_call_of_each_arm_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    turns = (Turn("eager", 0, (5,), 9), Turn("solution", 0, (5,), 9))
    evaluation = with_light(passed(timing=Timing("full", turns)), Work(1, 1))
    assert len(written(evaluation, tmp_path, ["png"])) == 2


def test_numbers_are_those_of_the_pictures(tmp_path: Path) -> None:
    evaluation = with_light(passed(timing=timing(solution_ns=2_000_000)), POOLING)
    found = draw_pictures(evaluation, tmp_path, ["svg"])
    names = [f"maxpool2d-tiled-b1084b09-{kind}.svg" for kind in ("samples", "roofline")]
    assert (found["id"], found["files"]) == ("20261121T031040-b1084b09", [str(tmp_path / name) for name in names])
    assert found["operations_per_byte"] is None
    assert found["ceilings"]["memory_bytes_per_s"] == pytest.approx(3.352e12)
    assert found["arms"][1] == {
        "arm": "solution",
        "calls": 24,
        "outliers": 0,
        "median_ns": 2_000_000,
        "typical_ns": 2_000_000,
        "low_ns": 2_000_000,
        "high_ns": 2_000_000,
        "bytes_per_s": pytest.approx(2.145e12),
        "operations_per_s": None,
        "share": pytest.approx(2.145 / 3.352),
        "bound": "memory",
    }


@pytest.mark.parametrize(
    ("evaluation", "why"),
    [
        (failed(), "20261121T031040-b1084b09 of maxpool2d/broken has no times to draw: it ended as wrong_values"),
        (
            passed(environment=sim_environment()),
            "of maxpool2d/tiled has no times to draw: a simulated run has no times",
        ),
        (passed(), "of maxpool2d/tiled has no times to draw: it ran without timing"),
    ],
)
def test_without_times_there_is_nothing_to_draw(evaluation: Evaluation, why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=why):
        draw_pictures(evaluation, tmp_path, ["svg"])


def test_without_matplotlib_there_is_svg_and_for_png_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    evaluation = passed(timing=timing())
    with pytest.raises(MachineError, match=r"harness\[plots\]"):
        draw_pictures(evaluation, tmp_path / "new", ["svg", "png"])
    assert not (tmp_path / "new").exists()
    assert len(written(evaluation, tmp_path / "new", ["svg"])) == 1


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match="file"):
        written(passed(timing=timing()), tmp_path / "file" / "in", ["svg"])


def test_a_hundred_thousand_calls_stay_a_small_file(tmp_path: Path) -> None:
    noise = random.Random(3)
    turns = [
        Turn(arm, block, tuple(1_000_000 + noise.randrange(20_000) for _ in range(5000)), 10**10)
        for block in range(10)
        for arm in ("eager", "solution")
    ]
    (path,) = written(passed(timing=Timing("full", tuple(turns))), tmp_path, ["svg"])
    assert path.stat().st_size < 8_000_000


def varied(solution_ns: int) -> Timing:
    """Seven blocks; eager takes 1.000 to 1.006 ms in them."""
    turns = [
        Turn(arm, block, (ns,), ns + 10)
        for block in range(7)
        for arm, ns in (("eager", 1_000_000 + 1000 * block), ("solution", solution_ns))
    ]
    return Timing("full", tuple(turns))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("solution_ns", "words"),
    [
        (900_000, "faster than"),
        (1_100_000, "slower than"),
        (1_003_000, "the same as"),
        (991_000, "not told apart from"),
    ],
)
def test_the_interval_decides_what_is_said_of_the_speed(solution_ns: int, words: str) -> None:
    assert speed_words(varied(solution_ns)).startswith(f"{words} eager: ")


def test_without_an_interval_nothing_is_said_of_the_speed() -> None:
    assert "too few blocks" in speed_words(timing(blocks=5))


def test_noise_is_told() -> None:
    wide = [Turn(a, b, (1000 * (1 + b * (a == "eager")),), 9) for b in range(6) for a in ("eager", "solution")]  # type: ignore[arg-type]
    assert "noisy: " in speed_words(Timing("full", tuple(wide)))


def test_strangers_names_are_harmless_and_cut(texts) -> None:  # type: ignore[no-untyped-def]
    evaluation = passed("\x1b[31m" + "x" * 100, timing=timing())
    hostile = replace(evaluation, problem=replace(evaluation.problem, name="a\nb"))
    assert "a b / \ufffd[31m" + "x" * 28 + "…" in texts(hostile)["samples"]
