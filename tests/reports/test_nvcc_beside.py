"""What nvcc said of simulated solutions, as the console and 'harness show' have it."""

from __future__ import annotations

from dataclasses import replace

from harness.model.build import NvccCheck
from harness.model.evaluation import Evaluation
from harness.reports.evaluation import log_text, show_report
from harness.reports.run import compiled_words, run_report
from tests.examples import build, passed, sim_environment
from tests.reports.printed import printed as shown
from tests.wording import tells

ACCEPTED = NvccCheck("accepted", "13.0.88", ("sm_90",), 9.84, False, output="ptxas info    : Used 32 registers\n")
KEPT = replace(ACCEPTED, was_cached=True)
UNCHECKED = NvccCheck("unchecked", "13.0.88", ("sm_80", "sm_90"), 0.0, False, "no answer within 180 s\x1b[2J")


def simulated(name: str, *checks: NvccCheck | None) -> Evaluation:
    builds = tuple(
        replace(build(), nvcc=check, kernels=(replace(build().kernels[0], constant_bytes=552),)) for check in checks
    )
    return passed(name, environment=sim_environment(), builds=builds)


def printed(*evaluations: Evaluation, verbose: bool = False) -> str:
    return "\n".join(shown(run_report(evaluations, verbose), 160))


def test_solutions_that_nvcc_compiles_are_named_by_version_and_architecture() -> None:
    evaluations = [
        simulated("plain", ACCEPTED, KEPT),
        simulated("tiled", KEPT),
        simulated("old", replace(ACCEPTED, architectures=("sm_80",))),
        simulated("late", UNCHECKED),
        simulated("half", ACCEPTED, UNCHECKED),
        simulated("alone", None),
        simulated("none"),
    ]
    words = "nvcc 13.0.88 compiles for sm_90: plain, tiled; nvcc 13.0.88 compiles for sm_80: old"
    assert compiled_words(evaluations) == words
    assert words in printed(*evaluations)
    assert compiled_words(evaluations[3:]) == ""
    assert compiled_words(evaluations[::-1]).endswith(": plain, tiled")  # by name, in whatever order they ended


def test_each_build_says_what_nvcc_said() -> None:
    text = printed(simulated("plain", ACCEPTED, KEPT, UNCHECKED), verbose=True)
    measured, kept, unchecked = [line for line in text.splitlines() if "nvcc" in line and " for sm_" in line]
    assert tells(measured, "nvcc 13.0.88", "sm_90: compiles", "9.8 s")
    assert tells(kept, "nvcc 13.0.88", "sm_90: compiles", "before")
    assert tells(unchecked, "nvcc 13.0.88", "sm_80, sm_90: not checked", "180 s")
    assert "\x1b" not in text


def test_show_has_resources_words_and_the_log() -> None:
    evaluation = simulated("plain", ACCEPTED)
    text = "\n".join(shown(show_report(evaluation, ()), 160))
    assert tells(text, "nvcc 13.0.88", "sm_90: compiles", "9.8 s")
    assert "constant B" in text
    assert "552" in text
    assert "# ---- relu_ext, by nvcc 13.0.88\nptxas info    : Used 32 registers" in log_text(evaluation)
