"""Kernels from end to end: what works, and what each fault leads to."""

from __future__ import annotations

import importlib.util
from collections import Counter
from typing import Any

import pytest

from harness.devices.sim.findings import counted_as
from harness.model.simulator_findings import FINDING_KINDS
from harness.sandbox.wire.device import Finding
from tests.cudasim.fault_page import Outcomes
from tests.wording import tells

pytestmark = pytest.mark.sim

NO_MEMORY = "The simulator counts no device memory."


@pytest.mark.parametrize(
    ("scenario", "value", "launches"),
    [
        ("library_in_tf32", [1 + 2**-12, 1.0], 0),
        ("vector_add", True, 1),
        ("matmul", True, 1),
        ("trace", [["aten::max_pool2d_with_indices", "aten::mul", "aten::view", "kernels::add"], [], None], 1),
        (
            "trace_elements",
            {
                "aten::mm": [1, 128, 0],
                "aten::cat": [1, 128, 0],
                "aten::sum": [2, 128 + 128, 0],
                "aten::mul": [1, 65, 0],  # a number is a tensor, too
                "kernels::add": [1, 0, 1],
            },
            1,
        ),
        ("reverse", [True, True, True], 3),
        ("begins_with_the_last", [[-2.0, 5.0], [5.0]], 2),
        ("shape_from_a_list", [5, 6], 0),
        ("positions", True, 1),
        ("convolve", [421.0, 4210.0], 1),
        ("reduce", [1000.0, 1000], 1),
        ("scale", [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0], 1),
        ("halves", [[3.0, 4.0], [1.0, 2.0]], 1),
        ("copies_behind", [True, True], 1),
        ("opted_in_shared", 25600.0, 1),
        ("opted_in_template", 25600.0, 1),
        ("too_many_threads_handled", True, 1),
        ("compiled", [-1.0, -1.0], 0),
        ("eight_bits", [True, True], 4),
        ("too_many_for_its_bounds_handled", [7.0, 7.0, 7.0, 1.0], 2),
        ("pinned_pointer", [0.0, 0.0, 1.0, 0.0], 1),
        ("uninitialised_shared", [False, True, False, True, False], 1),  # not a number in every block
        ("unwritten_output", True, 0),
        ("shared_buffer", ["cuda:0", [1000], "00000000", "00000040"], 1),
        ("wide_index_at_full_shape", [[2.0, 2.0], 2.0, True], 1),
        ("lazy_zeros", [255, 0.0, 0.0, True], 0),
        ("torch_surface", [True, 1, [9, 0], 132, True, [3, 2], True, "cuda:0"], 0),
        ("torch_streams", [[2.0, 2.0], "torch.bfloat16", -1, [0, -3], True, False, NO_MEMORY, True], 0),
        ("torch_modules", [True, True, 0], 0),
        ("inference_mode", [False, False, False, False, [5.0, 5.0, 5.0, 5.0], True, True], 0),
        ("torch_operators", [True, True, True], 0),
        ("index_on_the_host", [2.0, 5.0], 0),
        ("traced", True, 0),
        ("lazy_conjugates", [True] * 10, 0),
        ("sparse_parts", dict.fromkeys(("csr", "csc", "bsr", "bsc", "coo"), True), 0),
    ],
)
def test_right_code_gives_right_results(outcomes: Outcomes, scenario: str, value: object, launches: int) -> None:
    outcome = outcomes[scenario]
    findings = [one for one in outcome["findings"] if one["kind"] != "stream-order"]
    assert (outcome["value"], outcome["error"], findings) == (value, None, [])
    assert outcome["launches"] == launches


def _gained(outcome: dict[str, Any]) -> tuple[int, Counter[str], int]:
    """Launches, findings by kind and traces by which the simulator's account has grown."""
    before, after = outcome["accounts"]
    findings = Counter(after["findings"])
    findings.subtract(before["findings"])
    return after["launches"] - before["launches"], +findings, after["traces"] - before["traces"]


def test_what_is_told_is_all_that_the_simulator_has_an_account_of(outcomes: Outcomes) -> None:
    """With what the host asks for and gets withdrawn, and what is renamed once its line is known."""
    for scenario, outcome in outcomes.items():
        told = Counter[str]()
        for finding in outcome["findings"]:
            told[counted_as(Finding(**finding))] += finding["count"]
        if scenario != "drained":
            assert _gained(outcome)[:2] == (outcome["launches"], told), scenario


def test_a_report_that_somebody_took_leaves_a_gap_and_the_whole_trace(outcomes: Outcomes) -> None:
    outcome = outcomes["drained"]
    assert outcome["value"] == ["kernels::add"]
    assert (outcome["launches"], _gained(outcome)) == (0, (1, Counter(), 1))


@pytest.mark.parametrize(
    ("scenario", "kind", "kernel", "code", "words"),
    [
        (
            "out_of_bounds_after",
            "illegal-address",
            "write_behind",
            "out[at] = 1.0f",
            "0 bytes past the end of a device",
        ),
        ("asm_out_of_bounds", "illegal-address", "load_behind", "ld.global.nc.f32", "0 bytes past the end of a device"),
        (
            "copy_out_of_bounds",
            "illegal-address",
            "copy_from_behind",
            "cp.async.cg",
            "0 bytes past the end of a device",
        ),
        ("out_of_bounds_before", "illegal-address", "write_behind", "out[at] = 1.0f", "4 bytes before a device"),
        ("shared_overrun", "shared-out-of-bounds", "run_over", "kept[threadIdx.x + 2048]", "shared memory"),
        ("host_pointer", "host-pointer", "write_behind", "<<<1, 1>>>", "argument 1 'out' of the kernel"),
        ("misaligned", "misaligned-address", "scale4", "v", "not aligned"),
        ("misaligned_above", "misaligned-address", "sum_fours", "float4 four = fours[i];", "not aligned"),
        ("misaligned_rows", "misaligned-address", "load_rows", "ldmatrix", "aligned to 16 bytes"),
        ("rows_behind", "shared-out-of-bounds", "load_rows", "ldmatrix", "shared memory"),
        ("too_many_threads", "launch-error", "write_behind", "<<<1, 2048>>>", "blocks (2048, 1, 1)"),
        ("too_many_for_its_bounds", "launch-error", "bounded<128>", "<<<1, dim3(8", "__launch_bounds__ allows, 128"),
        ("unopted_shared", "launch-error", "dynamic_sum", "<<<1, 128, nbytes>>>", "102400 bytes of dynamic shared"),
        ("deadlock", "barrier-deadlock", "wait_for_each_other", "__syncwarp();", "16 wait at a barrier"),
        ("device_assert", "device-assert", "check_sign", "assert(in", "in[threadIdx.x] >= 0.0f"),
        ("divide_by_zero", "integer-divide-by-zero", "divide", "7 / by", "division by zero"),
        ("deep_stack", "stack-overflow", "recurse", "local[", "local memory"),
        ("inactive_lane", "warp-inactive-lane", "shuffle_from_nobody", "__shfl_sync", "reads lane 20"),
        ("narrow_index_at_full_shape", "illegal-address", "average_pairs<int>", "in[2 * i]", "device allocation"),
        ("early_exit", "barrier-after-exit", "leave_early", "__syncthreads();", "24 of the block's 64 threads"),
    ],
)
def test_finding_names_kernel_and_line(
    outcomes: Outcomes, kernel_lines: list[str], scenario: str, kind: str, kernel: str, code: str, words: str
) -> None:
    (finding,) = outcomes[scenario]["findings"]
    assert (finding["kind"], finding["kernel"]) == (kind, kernel)
    assert words in finding["detail"]
    assert code in kernel_lines[finding["line"] - 1]
    assert kind in FINDING_KINDS


def test_a_library_s_call_beyond_an_allocation_is_named(outcomes: Outcomes) -> None:
    (finding,) = outcomes["library_behind"]["findings"]
    assert finding["kind"] == "illegal-address"
    assert tells(finding["detail"], "cublasSgemv", "63 bytes past the end")


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("operator_without_cpu_kernel", ("harness-sim-unsupported:", "aten::_fused_dropout")),
        ("recurrent_gradient", ("harness-sim-unsupported:", "aten::_thnn_fused_lstm_cell_backward_impl")),
        ("sparse_product", ("harness-sim-unsupported:", "sparse")),
        ("sparse_to_dense", ("harness-sim-unsupported:", "sparse")),
        ("mixed_devices", ("same device",)),
        ("mixed_devices_in_a_list", ("same device",)),
        ("rows_chosen_from_another_device", ("same device",)),
    ],
)
def test_what_cannot_be_simulated_is_told(outcomes: Outcomes, scenario: str, words: tuple[str, ...]) -> None:
    assert tells(outcomes[scenario]["error"], *words)


@pytest.mark.parametrize(
    ("scenario", "error"),
    [
        ("out_of_bounds_after", "CUDA error: an illegal memory access was encountered"),
        ("deadlock", "CUDA error: the launch timed out and was terminated"),
        ("device_assert", "CUDA error: device-side assert triggered"),
        ("vector_add_of_cpu_tensors", "inputs must be on the GPU"),
        ("error_is_sticky", "CUDA error: an illegal memory access was encountered"),
    ],
)
def test_error_reads_as_torch_or_the_simulator_words_it(outcomes: Outcomes, scenario: str, error: str) -> None:
    assert outcomes[scenario]["error"] == error


def test_checked_launch_failure_raises_with_its_numbers(outcomes: Outcomes) -> None:
    outcome = outcomes["unopted_shared_checked"]
    assert outcome["error"].startswith("CUDA error: invalid argument")
    assert tells(outcome["error"], "102400", "dynamic shared memory", "49152")
    assert outcome["findings"] == []


def test_failed_launch_is_not_counted(outcomes: Outcomes) -> None:
    assert outcomes["too_many_threads"]["launches"] == 0


def test_early_exit_before_a_barrier_is_a_remark_and_gives_the_result(outcomes: Outcomes) -> None:
    assert outcomes["early_exit"]["value"] == [39.0, 38.0, 37.0]
    assert FINDING_KINDS["barrier-after-exit"].verdict is None


@pytest.mark.parametrize("scenario", ["too_many_blocks", "too_many_launches"])
def test_launches_that_would_take_too_long_are_given_up(outcomes: Outcomes, scenario: str) -> None:
    """A million blocks of a hundred thousand steps take minutes, a thousand launches a minute."""
    outcome = outcomes[scenario]
    (finding,) = outcome["findings"]
    assert (finding["kind"], finding["kernel"], finding["block"]) == ("too-much-work", "count_down", None)
    assert outcome["error"] == "CUDA error: the launch timed out and was terminated"


def test_a_block_that_takes_long_says_nothing_of_others(outcomes: Outcomes) -> None:
    for scenario, least_s in (("one_long_block", 0.2), ("work_within_limit", 0)):
        outcome = outcomes[scenario]
        assert (outcome["findings"], outcome["error"]) == ([], None)
        assert outcome["value"] > least_s


def test_what_other_programs_take_is_not_a_launch_s_work(outcomes: Outcomes) -> None:
    outcome = outcomes["slowed_by_others"]
    assert (outcome["findings"], outcome["error"]) == ([], None)


def test_a_few_long_blocks_say_nothing_of_a_launch_after_others(outcomes: Outcomes) -> None:
    outcome = outcomes["long_first_blocks"]
    assert (outcome["findings"], outcome["error"]) == ([], None)


def test_atomics_are_counted_by_launch(outcomes: Outcomes) -> None:
    for scenario, count in (("reduce", 1), ("vector_add", 0)):
        before, after = outcomes[scenario]["accounts"]
        assert after["atomics"] - before["atomics"] == count


def test_shared_buffer_ends_at_a_guard(outcomes: Outcomes) -> None:
    assert outcomes["read_behind_shared_buffer"]["findings"][0]["kind"] == "illegal-address"


def test_launches_of_kernels_are_unsupported_where_no_source_shows_them(
    outcomes: Outcomes, kernel_lines: list[str]
) -> None:
    line = next(i for i, text in enumerate(kernel_lines, 1) if "void start_leaf" in text)
    outcome = outcomes["nested_launch"]
    assert tells(outcome["error"], "harness-sim-unsupported: dynamic parallelism", f"line {line}", "cuda.cu")
    assert [finding["kind"] for finding in outcome["findings"]] == ["beyond-simulator"]


@pytest.mark.parametrize(
    ("scenario", "gap"),
    [
        ("operator_without_cpu_kernel", "torch operator aten::_fused_dropout has no CPU kernel"),
    ],
)
def test_what_was_refused_is_a_remark_even_if_the_solution_catches_it(
    outcomes: Outcomes, scenario: str, gap: str
) -> None:
    (finding,) = outcomes[scenario]["findings"]
    assert (finding["kind"], finding["detail"], finding["block"]) == ("beyond-simulator", gap, None)
    assert FINDING_KINDS["beyond-simulator"].verdict is None


def test_the_first_work_on_streams_of_their_own_is_a_remark(outcomes: Outcomes) -> None:
    found = [one["detail"] for of in outcomes.values() for one in of["findings"] if one["kind"] == "stream-order"]
    assert sorted(one.partition(": ")[0] for one in found) == ["cudaStreamNonBlocking", "torch.cuda.stream()"]
    assert outcomes["own_streams"]["error"] is None
    assert FINDING_KINDS["stream-order"].verdict is None


@pytest.mark.skipif(importlib.util.find_spec("triton") is not None, reason="its interpreter runs kernels here")
def test_a_module_of_triton_s_name_is_not_found(outcomes: Outcomes) -> None:
    assert outcomes["installed_triton"]["value"] == "import of triton halted; None in sys.modules"


def test_recurrent_layers_give_what_they_give_on_the_cpu(outcomes: Outcomes) -> None:
    outcome = outcomes["recurrent_layers"]
    assert outcome["error"] is None
    assert len(outcome["value"]) == 9
    assert set(outcome["value"].values()) == {True}
