"""The page as a text: what it says, and that nothing in it is ours to fear."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from harness.model.config import Config, CorrectnessConfig
from harness.model.evaluation import Evaluation, Work
from harness.model.verdict import Verdict
from tests.examples import measured, with_light
from tests.reports.leaderboard.samples import (
    broken,
    build,
    exact,
    hostile,
    html_page,
    large_journal,
    simulated,
    solution,
    timed,
)
from tests.wording import tells


class Document(HTMLParser):
    """Tags, attributes and the text of a page; scripts and styles apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.words: list[str] = []
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        (self.raw.get(self._inside, self.words)).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.tags if "id" in attributes]


def document(*evaluations: Evaluation) -> Document:
    return Document(html_page(*evaluations))


SAID: dict[str, tuple[list[Evaluation], tuple[str, ...]]] = {
    "speed, control and metrics": (
        [timed(timing=measured())],
        (
            "gpu_cold eager / solution 3.0009× [2.9913, 3.0105] faster",
            "gpu_cold eager / control (A/A) 1.0001× [0.9970, 1.0032]",
            "gpu_warm eager / solution 2.9992× [2.9899, 3.0084]",
            "launch eager / solution 1.9836× [1.9777, 1.9896]",
            *("SM", "1755", "1980 MHz"),
        ),
    ),
    "source, explanation, log, samples and errors": (
        [timed(builds=(build("ptxas said this"),))],
        (
            *("One thread computes one value.", "// One thread, one value.", "120 calls", "0.0001 + 1e-05·|want|"),
            "relu float const*, float*, int",
            "harness run --problem relu --solution plain --backend cuda \\ --seed 5692163613755307619",
            *("ptxas said this", "NVIDIA H100 80GB HBM3"),
        ),
    ),
    "settings that aren't the defaults": (
        [timed(config=Config(correctness=CorrectnessConfig(seeds=1)))],
        ("--config repeat.yaml", "correctness: seeds: 1"),
    ),
    "operations, without ceilings": (
        [timed(timing=timed().timing, work=Work(3_000_000, 6_000_000_000))],
        ("Roofline", "3 MB", "6 GFLOP", "ceilings are not in the records", "2 GB/s"),  # 3 MB in the solution's 1.5 ms
    ),
    "ceilings": (
        [with_light(timed(timing=timed().timing), Work(790_000_000, 583_000_000_000))],
        ("memory", "TB/s", "TFLOP/s"),
    ),
    "bytes alone": ([timed(work=Work(3_000_000, None))], ("Achieved bandwidth", "no operations counted")),
    "rules, the machine, and what isn't known": (
        [timed()],
        ("how many bytes", "measured twice", "share a rank", "cudnn_allow_tf32 on"),
    ),
    "simulated and older records": (
        [timed(), simulated(solution_name="dry"), timed(solution_name="old", solution=solution("old", files={}))],
        ("keeps no sources", "Not ranked: simulated"),
    ),
    "simulated ones alone": ([simulated()], ("Nothing was timed", "No solution is ranked")),
    "an exact comparison": ([exact(timed())], ("exact",)),
    **{one.value: ([timed(), broken(verdict=one)], (one.value,)) for one in Verdict if not one.passed},
}


@pytest.mark.parametrize(("evaluations", "said"), SAID.values(), ids=SAID)
def test_the_page_says(evaluations: list[Evaluation], said: tuple[str, ...]) -> None:
    assert tells(document(*evaluations).text, *said)


def test_without_operations_there_is_no_roofline() -> None:
    assert "Roofline" not in document(timed(work=Work(3_000_000, None))).text


HTTP = re.compile(r"https?://", re.IGNORECASE)


def test_nothing_outside_the_file_is_named() -> None:
    made = document(timed(), broken(), simulated(solution_name="dry"))
    addresses = [a[key] for _, a in made.tags for key in ("src", "href", "action", "srcset") if key in a]
    assert {str(address)[0] for address in addresses if address != "data:,"} == {"#"}
    assert [text for kind in made.raw.values() for text in kind if HTTP.search(text) or "@import" in text] == []


def test_links_lead_somewhere_and_ids_are_unique() -> None:
    made = document(*large_journal(3, 10), timed("overview", "rules"), timed("a b", "x"), timed("a/b", "x"))
    targets = {str(a["href"])[1:] for tag, a in made.tags if tag == "a"}
    assert targets <= set(made.ids())
    assert len(made.ids()) == len(set(made.ids()))


def test_the_policy_allows_our_own_style_and_script_alone() -> None:
    made = document(timed())
    policy = next(a["content"] for tag, a in made.tags if tag == "meta" and a.get("http-equiv"))
    hashes = [
        "sha256-" + base64.b64encode(hashlib.sha256("".join(made.raw[kind]).encode()).digest()).decode()
        for kind in ("style", "script")
    ]
    assert policy == (
        f"default-src 'none'; style-src '{hashes[0]}'; script-src '{hashes[1]}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def test_no_attribute_is_a_handler_or_a_style() -> None:
    made = document(hostile(), *large_journal(2, 5))
    assert [a for _, a in made.tags if "style" in a or any(key.startswith("on") for key in a)] == []


def test_hostile_texts_add_no_tags() -> None:
    plain, attacked = document(timed()), document(hostile())
    assert len(attacked.raw["script"]) == len(plain.raw["script"]) == 1
    assert {tag for tag, _ in attacked.tags} == {tag for tag, _ in plain.tags}
    assert "{{ 7 * 7 }}" in attacked.text
    assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", html_page(hostile())) == []


def test_a_huge_log_is_shortened_and_a_long_source_is_not() -> None:
    made = html_page(hostile())
    assert "characters left out" in made
    assert made.count("a_4999 = ") == 1
    assert len(made) < 2_000_000


def test_a_board_of_ten_problems_and_two_hundred_solutions_stays_small() -> None:
    assert len(html_page(*large_journal())) < 2_500_000


def test_the_same_board_gives_the_same_page() -> None:
    assert html_page(*large_journal(2, 5)) == html_page(*large_journal(2, 5))


def test_a_failure_shows_its_reason_its_place_and_the_verdict_in_the_matrix() -> None:
    made = document(timed(), broken())
    assert tells(made.text, "1 of 4 values")
    assert "the borders" in made.text
    assert tells(made.text, "[1, 0]", "2.5", "-1")
    assert re.search(r"wrong_values [^/]* relu/broken", made.text)


def test_a_case_that_ended_the_evaluation_says_how() -> None:
    made = document(timed(), broken(verdict=Verdict.TIMEOUT, checks=()))
    cells = [a["class"] for tag, a in made.tags if tag == "td" and a.get("class") in ("ok", "bad")]
    assert sorted(str(kind) for kind in cells) == ["bad", "ok", "ok"]


def test_who_computes_more_precisely_than_the_baseline_is_said_to() -> None:
    problem = replace(timed().problem, precision="tf32")
    strict = timed(problem=problem, solution=solution(precision="float32"))
    winners = html_page(strict).partition('id="winners"')[2].partition("</ol>")[0]
    assert "eager computes in tf32" in winners
    assert "eager computes in tf32" not in html_page(timed())


def test_history_is_drawn_from_the_second_measurement_on() -> None:
    twice = document(timed(day=1, id="a"), timed(day=2, id="b"))
    assert "2 measurements" in twice.text
    assert any("over time" in (a.get("aria-label") or "") for _, a in twice.tags)


def test_a_long_history_is_cut_to_its_newest_and_says_so() -> None:
    many = [timed(id=f"n{i}", started_at=f"2026-10-01T{i // 60:02d}:{i % 60:02d}:00.000+00:00") for i in range(250)]
    made = document(*many)
    assert "200 of 250" in made.text
    assert ("2026-10-01 04:09" in made.text, "2026-10-01 00:49" in made.text) == (True, False)


def test_nan_and_infinite_errors_are_shown() -> None:
    wrong = broken()
    output = replace(wrong.checks[0].outputs[0], worst=float("inf"), max_abs_error=float("nan"))
    made = document(timed(), replace(wrong, checks=(replace(wrong.checks[0], outputs=(output,)),)))
    assert ("data-v", "Infinity") in [item for _, a in made.tags for item in a.items()]
