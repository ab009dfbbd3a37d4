"""What a worker tells of an exception."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from harness.worker import serve
from harness.worker.arm import _class_of
from tests.wording import tells


def function(file: str, text: str, **names: object) -> Callable[[], None]:
    """A function `f` whose frames lie in a file of this name."""
    scope: dict[str, Callable[[], None]] = {}
    exec(compile(f"def f():\n    {text}", file, "exec"), dict(names), scope)
    return scope["f"]


def told(outermost: Callable[[], None]) -> str:
    with pytest.raises(ValueError, match="no") as raised:
        outermost()
    error = raised.value
    assert error.__traceback__ is not None
    return serve._told(error.with_traceback(error.__traceback__.tb_next))  # without this test's own frame


OURS = f"{serve._OURS}/worker/arm.py"
PACKAGES = serve._LIBRARIES[1]


def test_a_traceback_has_the_solutions_frames_and_the_librarys_last() -> None:
    inner = function(f"{PACKAGES}/torch/nn/modules/conv.py", "raise ValueError('no')")
    middle = function(f"{PACKAGES}/torch/nn/modules/module.py", "inner()", inner=inner)
    solution = function("solutions/relu/plain/solution.py", "middle()", middle=middle)
    text = told(function(OURS, "solution()", solution=solution))
    assert "arm.py" not in text
    assert "module.py" not in text
    assert text.index("solution.py") < text.index("conv.py") < text.index("ValueError: no")


def test_what_raises_in_ours_below_a_solution_is_left_out() -> None:
    device = function(OURS, "raise ValueError('no')")
    library = function(f"{PACKAGES}/triton/runtime/jit.py", "device()", device=device)
    kernel = function("solutions/relu/plain/solution.py", "library()", library=library)
    text = told(function(OURS, "kernel()", kernel=kernel))
    assert text.count("File ") == text.count("solution.py") == 1


def test_causes_are_told_alike() -> None:
    cause = function("solutions/relu/plain/solution.py", "raise KeyError('x')")
    wrapped = function(
        OURS, "\n    ".join(["try: cause()", "except KeyError as e: raise ValueError('no') from e"]), cause=cause
    )
    text = told(wrapped)
    assert text.index("KeyError: 'x'") < text.index("ValueError: no")
    assert text.count("solution.py") == 1


def test_of_frames_of_ours_alone_the_last_stays() -> None:
    called = function(f"{PACKAGES}/torch/nn/modules/module.py", "raise ValueError('no')")
    text = told(function(OURS, "called()", called=called))
    assert "module.py" in text
    assert "arm.py" not in text


def raised_by_import(source: str) -> str:
    """What is told of a file that Python's own import can't compile."""
    with pytest.raises(SyntaxError) as raised:
        function("<frozen importlib._bootstrap>", "compile(source, 'solution.py', 'exec')", source=source)()
    return serve._told(raised.value.with_traceback(raised.tb.tb_next))


def test_of_a_syntax_error_the_line_is_told_and_nothing_of_python_s_import() -> None:
    text = raised_by_import("class ModelNew(:\n  pass\n")
    assert tells(text, "solution.py", "line 1", "class ModelNew(:", "SyntaxError")
    assert "frozen" not in text


def test_of_a_file_that_is_no_text_the_message_says_all() -> None:
    assert raised_by_import("\0") == ""


def test_what_ours_raises_by_itself_is_all_said_by_the_message() -> None:
    with pytest.raises(AttributeError, match="ModelNew") as raised:
        _class_of(ModuleType("solution"), "ModelNew", "solution.py")
    assert serve._told(raised.value.with_traceback(raised.tb.tb_next)) == ""
    assert "arm.py" in told(function(OURS, "[][int('no')]"))


def test_an_error_of_ours_is_told_as_its_cause() -> None:
    refusal = type("Refusal", (ValueError,), {"__module__": "harness.devices.sim"})
    kernel = function("solutions/relu/plain/solution.py", "raise KeyError('x')")
    refused = function(
        OURS,
        "\n    ".join(["try: kernel()", "except KeyError as e: raise Refusal('no') from e"]),
        kernel=kernel,
        Refusal=refusal,
    )
    text = told(function("solutions/relu/plain/other.py", "refused()", refused=refused))
    assert text.count("Traceback") == 1
    assert "harness" not in text
    assert text.index("other.py") < text.index("solution.py") < text.index("KeyError: 'x'")


def test_a_long_message_keeps_its_beginning_and_displaces_no_frame() -> None:
    solution = function("solutions/relu/plain/solution.py", "raise ValueError('no' + 50_000 * 'x')")
    text = told(function(OURS, "solution()", solution=solution))
    assert text.count("solution.py") == 1
    assert "ValueError: noxxx" in text
    assert 5_000 < len(text) <= 20_000


def test_of_very_many_frames_the_last_stay() -> None:
    def deep(depth: int) -> None:
        function(f"solutions/relu/plain/{depth}.py", "deep(depth) if depth else fail()", **names(depth))()

    def names(depth: int) -> dict[str, object]:
        return {"deep": deep, "depth": depth - 1, "fail": fail}

    fail = function("solutions/relu/plain/last.py", "raise ValueError('no' + 50_000 * 'x')")
    text = told(function(OURS, "deep(300)", deep=deep))
    assert "last.py" in text
    assert "ValueError: noxxx" in text
    assert len(text) <= 20_000
