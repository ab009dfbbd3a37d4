"""CUDA graphs on the simulator, held against what an H200 did with the same; numbers of the host and values put by a
mask, against torch's source alone."""

from __future__ import annotations

import pytest

from tests.cudasim.fault_page import Outcomes

pytestmark = pytest.mark.sim

NOT_PERMITTED = "CUDA error: operation not permitted when stream is capturing"
SPOILT = "CUDA error: operation failed due to a previous error during capture"
PERMITTED = (
    "from pinned memory without waiting",
    "indices",
    "values by indices",
    "booleans by indices",
    "a number by a mask",
    "a number by a mask as index",
    "tensor of a tensor",
    "tensor of nothing",
)
NOT_PINNED = "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned."


@pytest.mark.parametrize(
    ("scenario", "value", "launches"),
    [
        ("graph_after_a_warm_up", [True, True, False, 4.0, 10.0], 3),
        ("graph_of_operators_and_kernels", [True, [5.0, 46.0], [46.0, 94.0]], 2),
        (
            "graph_of_a_network",
            {"no_grad": [True, True], "enable_grad": [True, True], "inference_mode": [True, True]},
            0,
        ),
        (
            "graph_of_numbers_on_the_host",
            {"operand": 2.0, "in place": 14.0, "fill": 2.0, "by a mask": 2.0, "copy": 10.0, "to": 10.0},
            0,
        ),
        ("graphed_callables", [True, True], 0),
        ("graph_without_launches", 7.0, 1),
    ],
)
def test_replays_run_on_the_memory_of_the_capture(
    outcomes: Outcomes, scenario: str, value: object, launches: int
) -> None:
    outcome = outcomes[scenario]
    assert (outcome["value"], outcome["error"], outcome["launches"]) == (value, None, launches)
    assert outcome["findings"] == []


def test_a_capture_keeps_what_is_for_its_stream_and_runs_nothing_of_it(outcomes: Outcomes) -> None:
    at_once = [2.0, 2.0]  # and never again
    assert outcomes["graph_of_an_extension"]["value"] == {
        "kernel": [7.0, 6.0],
        "kernel by a variable's name": [7.0, 6.0],
        "copy": [7.0, 3.0],
        "fill": [7.0, 0.0],
        "cudaLaunchKernel": [7.0, 6.0],
        "cudaLaunchKernel by address": [7.0, 6.0],
        "cudaLaunchCooperativeKernel": [7.0, 6.0],
        "cudaLaunchKernelEx": [7.0, 6.0],
        "cudaLaunchKernelExC": [7.0, 6.0],
        "kernel on the default stream": at_once,
        "kernel on torch's default stream": at_once,
    }


def test_a_fault_of_a_captured_kernel_is_seen_when_it_is_replayed(outcomes: Outcomes) -> None:
    outcome = outcomes["graph_past_the_end"]
    assert outcome["error"] == "CUDA error: an illegal memory access was encountered"
    (finding,) = outcome["findings"]
    assert (finding["kind"], finding["kernel"]) == ("illegal-address", "twice")


def test_what_a_capture_does_not_allow_fails_in_cuda_s_words(outcomes: Outcomes) -> None:
    errors = dict(outcomes["errors_in_a_capture"]["value"])
    masks = ("values by a mask", "values by a mask of bytes", "values added by a mask", "values by a mask, elsewhere")
    for name in ("item", "nonzero", "mask", "synchronize", "from pinned memory", *masks):
        assert errors.pop(name) == [NOT_PERMITTED, SPOILT]
    for name in ("cpu", "cuda", "tensor", "tensor of a number", "new_tensor", "as_tensor"):
        assert errors.pop(name) == [NOT_PINNED, None]
    for name in ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaMalloc"):  # the extension looks at no error
        assert errors.pop(name) == [None, SPOILT]
    assert errors == {name: [None, None] for name in PERMITTED}


def test_what_can_not_be_captured_is_unsupported_by_name(outcomes: Outcomes) -> None:
    outcome = outcomes["gaps_in_a_capture"]
    for what, errors in outcome["value"].items():
        assert errors == [f"harness-sim-unsupported: {what} in a CUDA graph", None]
    (finding,) = outcome["findings"]
    assert (finding["kind"], finding["count"]) == ("beyond-simulator", len(outcome["value"]))


def test_a_graph_without_a_capture_is_not_replayed(outcomes: Outcomes) -> None:
    assert outcomes["graph_never_captured"]["error"] == (
        "Called CUDAGraph::replay without a preceding successful capture."
    )
