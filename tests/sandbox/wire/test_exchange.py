"""Envelopes: a message is known, whole, and answers with its nonce."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.sandbox.wire.device import Account, BufferHandle, Conditions, Finding, KernelRun, SeenGpu
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.frames import FrameError, envelope, open_envelope
from harness.sandbox.wire.messages import (
    REPLIES,
    REQUESTS,
    Argument,
    Attach,
    BuildText,
    Call,
    CallTaken,
    Compilation,
    CompilersDescribed,
    Construct,
    Constructed,
    Describe,
    DescribeCompilers,
    Described,
    Detach,
    Done,
    ExtensionReport,
    FlagChange,
    GiveBack,
    Load,
    Loaded,
    OutputForm,
    Raised,
    TakeTurn,
    TensorRef,
    TextBuilt,
    TraceTried,
    TryTrace,
    TurnTaken,
    WarmUp,
)

REF = TensorRef(3, "float32", (2, 5), (5, 1), 256)
REPORT = ExtensionReport("relu", "0ed3", True, False, 4.5)
FINDING = Finding("illegal-address", "past the end", "relu", "cuda.cu", 12, (1, 0, 0), (31, 0, 0), 4)
CALL = Call((Argument(REF), Argument(value=3)), (REF,))
TAKEN = CallTaken("tuple", (OutputForm(None, "float32", (2,), "cuda"),), 10, 12, ("input 0",))
ACCOUNT = Account(5, {"illegal-address": 4}, 1)
RELU = ExtensionText("relu", ("int relu();",), (), {"relu": "relu"}, cflags=("-O3",))
RUN = KernelRun("relu", 5, 9, 7, "kernel")

MESSAGES = [
    (REQUESTS, WarmUp()),
    (REQUESTS, TryTrace()),
    (REPLIES, TraceTried(True)),
    (REQUESTS, Load("/s/solution.py", "ModelNew", {"cudnn_benchmark": False})),
    (REQUESTS, Load("/s/solution.py", "ModelNew", {}, "these", SeenGpu({"name": "H200", "major": 9, "minor": 0}))),
    (REQUESTS, DescribeCompilers()),
    (REPLIES, CompilersDescribed("these")),
    (REQUESTS, BuildText(RELU, "0" * 32)),
    (REPLIES, TextBuilt(ExtensionReport("relu", "0" * 32, False, False, 1.5))),
    (REPLIES, Loaded((ExtensionReport("relu", "0" * 32, False, False, 0.0, RELU),))),
    (REQUESTS, Attach(7, BufferHandle("periodic_memfd", 4096, offset=16, period=8192))),
    (REQUESTS, Detach((1, 2))),
    (REQUESTS, Construct([1, {"tuple": [2]}], 99, {"conv.weight": REF})),
    (REQUESTS, TakeTurn((CALL, Call((), ())), Conditions("end_to_end", 7), True, True, 4, 77)),
    (REQUESTS, GiveBack()),
    (REQUESTS, Describe()),
    (REPLIES, Described((FlagChange("float32_matmul_precision", "highest", None),), Compilation(2, 1, None))),
    (REPLIES, Loaded((REPORT,))),
    (REPLIES, Constructed(("w", "b"), ("w",), (REPORT,))),
    (REPLIES, TurnTaken((TAKEN,), (FINDING,), 2, (REPORT,), (RUN,), ("time.time",), 9, ACCOUNT)),
    (REPLIES, TurnTaken((CallTaken("NoneType", (OutputForm("NoneType"),), None, None),), (), 0)),
    (REPLIES, Done()),
    (REPLIES, Raised("ValueError", "no", "Traceback …", (REPORT,), (FINDING,), 3, ACCOUNT)),
]


@pytest.mark.parametrize(("known", "message"), MESSAGES, ids=lambda value: type(value).__name__)
def test_a_message_survives_the_wire(known: dict[str, type], message: object) -> None:
    assert open_envelope(json.loads(json.dumps(envelope("ab12", message))), known) == ("ab12", message)


def frame(**changes: Any) -> dict[str, Any]:
    return {"nonce": "ab12", "message": "Detach", "content": {"buffers": [1]}, **changes}


@pytest.mark.parametrize(
    "data",
    [
        frame(message="Exec"),
        frame(message=None),
        frame(message=["Detach"]),
        frame(nonce=7),
        frame(extra=1),
        {"nonce": "ab12", "message": "Detach"},
        {"nonce": "ab12", "message": "Detach", "contents": {"buffers": [1]}},
        {},
        frame(content={"buffers": [1], "more": 2}),
        frame(content={"buffers": ["1"]}),
        frame(content={"buffers": [True]}),
        frame(content=[1]),
        frame(content=None),
    ],
)
def test_a_message_of_another_form_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        open_envelope(data, REQUESTS)


def test_a_reply_is_no_request() -> None:
    with pytest.raises(FrameError, match="unknown form"):
        open_envelope(envelope("ab12", Done()), REQUESTS)


def test_a_number_that_no_float_holds_is_refused() -> None:
    data = envelope("ab12", Loaded((REPORT,)))
    data["content"]["extensions"][0]["seconds"] = 10**400
    with pytest.raises(FrameError):
        open_envelope(data, REPLIES)


def test_a_long_foreign_message_is_cut_in_the_complaint() -> None:
    with pytest.raises(FrameError) as caught:
        open_envelope({"x": "y" * 10_000}, REPLIES)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "content",
    [
        {"flags": [], "compilation": {"graphs": -1, "graph_breaks": 0, "recompilations": 0}},
        {"flags": [], "compilation": {"graphs": 2**31, "graph_breaks": 0, "recompilations": 0}},
        {"flags": [], "compilation": {"graphs": 1, "graph_breaks": "0", "recompilations": 0}},
        {"flags": [{"name": "x", "before": True, "after": "a\nb"}], "compilation": None},
        {"flags": [{"name": "x" * 61, "before": True, "after": False}], "compilation": None},
        {"flags": [{"name": "x", "before": 1.5, "after": False}], "compilation": None},
        {"flags": [{"name": "x", "before": True, "after": False}] * 65, "compilation": None},
    ],
)
def test_what_a_process_says_of_torch_is_words_and_counts(content: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        open_envelope({"nonce": "ab", "message": "Described", "content": content}, REPLIES)
