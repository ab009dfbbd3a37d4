"""The checked build: each fault is found with its line, block, thread and values, and honest look-alikes are not."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.cudasim.compiler import find_compiler
from harness.devices.sim.account import HarmlessFindings
from harness.model.simulator_findings import FINDING_KINDS
from harness.sandbox.wire.device import Finding
from tests.cudasim.conftest import toolkit_or_skip
from tests.cudasim.fault_page import COUNT, EXAMPLES, KERNELS, PAGE, Outcomes, run_scenarios, with_examples
from tests.wording import tells

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    return run_scenarios(toolkit_or_skip(is_checked=True))


FAULTS = [
    ("write_one_past", "illegal-address", "a[i] = 1.0f", 7, 104, "bytes 4000 to 4003 of argument 1"),
    ("read_neighbour", "illegal-address", "a[i - 1]", 0, 0, "bytes -4 to -1 of argument 1"),
    ("read_vector_past", "illegal-address", "b[0] = a[i]", 0, 250, "bytes 4000 to 4015 of argument 1"),
    ("add_past", "illegal-address", "atomicAdd(", 0, 0, "atomic read of 4 bytes: bytes 4000 to 4003"),
    ("copy_past", "illegal-address", "memcpy(b, a", 0, 0, "bytes 0 to 4003 of argument 2 'a' (4000 bytes)"),
    ("view_past", "illegal-address", "from[threadIdx.x]", 0, 10, "bytes 4000 to 4003 of argument 1"),
    ("sum_one_too_many", "shared-out-of-bounds", "values[i]", 0, 0, "132 to 135 of shared `tile`"),
    ("dynamic_one_past", "shared-out-of-bounds", "kept[", 0, 31, "128 to 131 of the dynamic shared"),
    ("run_into_the_next", "shared-out-of-bounds", "p[thr", 0, 16, "128 to 131 of shared `first`"),
    ("local_past", "array-index-out-of-bounds", "window[i]", 0, 0, "index 4 of an array"),
    ("member_past", "array-index-out-of-bounds", "weights[n", 0, 0, "index 3 of an array"),
    ("table_past", "array-index-out-of-bounds", "table[", 0, 0, "index 8 of an array"),
    ("one_of_four", "array-index-out-of-bounds", "kept[", 0, 4, "index 4 of an array of"),
    ("counted_by_a_function", "array-index-out-of-bounds", "counts[v", 0, 2, "index 4 of an array"),
    ("row_past", "array-index-out-of-bounds", "kept[row]", 0, 0, "of type 'float [2][4]'"),
    ("column_past", "array-index-out-of-bounds", "tile[3][", 0, 0, "of type 'float [3]'"),
    ("halo_not_loaded", "uninitialised-shared-read", "tile[", 0, 0, "at byte 0 of shared `tile`"),
    ("dynamic_half_filled", "uninitialised-shared-read", "kept[", 0, 16, "at byte 64 of the dynamic"),
    ("first_block_alone", "uninitialised-shared-read", "= scale", 1, 0, "byte 0 of shared `scale`"),
    ("shared_counter", "uninitialised-shared-read", "atomicAdd", 0, 0, "byte 0 of shared `count`"),
    ("accumulate", "uninitialised-global-read", "b[threadIdx.x] +=", 0, 0, "byte 0 of argument 2"),
    ("add_atomically", "uninitialised-global-read", "atomicAdd", 0, 0, "byte 0 of argument 2"),
    ("half_written", "uninitialised-global-read", "from[thr", 0, 16, "byte 64 of argument 1"),
    ("own_memory_unfilled", "uninitialised-global-read", "from[thr", 0, 0, "argument 1 'from' (400 bytes)"),
    ("load4", "misaligned-address", "a[threadIdx.x].x", 0, 0, "byte 4 of argument 1"),
    ("store2", "misaligned-address", "pairs[", 0, 0, "multiple of 8 bytes"),
    ("load_double", "misaligned-address", "const double*", 0, 0, "is at 4 modulo 8"),
    ("shared4", "misaligned-address", "float4 four", 0, 1, "byte 4 of shared `tile`"),
    ("no_barrier", "shared-race", "tile[63 -", 0, 32, "thread [31, 0, 0] writes it at line"),
    ("one_barrier_in_a_loop", "shared-race", "tile[", 0, 32, "no barrier lies between"),
    ("all_write", "shared-race", "last = a", 0, 1, "thread [0, 0, 0] writes it at line"),
    ("warp_without_sync", "shared-race", "tile[", 0, 16, "thread [0, 0, 0] reads it at line"),
    ("count_and_look", "shared-race", "atomicAdd", 0, 1, "thread [0, 0, 0] reads it at line"),
    ("histogram", "global-race", "b[bin] +=", 0, 4, "thread [0, 0, 0] writes it at line"),
    ("blocks_write_one", "global-race", "b[thr", 1, 0, "thread [0, 0, 0] of block [0, 0, 0] writes it"),
    ("neighbour_s_result", "global-race", "b[i - 1]", 0, 1, "thread [0, 0, 0] writes it at line"),
    ("reset_by_everyone", "global-race", "*b = 0", 1, 0, "nothing orders blocks of one launch"),
    ("wide_product", "index-overflow", "rows * columns", 0, 0, "65536 * 32769 doesn't fit into 'int'"),
    ("wide_offset", "index-overflow", "row * stride", 0, 0, "1048575 * 4096 doesn't fit into 'int'"),
    ("wide_step", "index-overflow", "i += step", 0, 0, "1073741824 + 1073741824"),
    ("cast_away", "const-write", "const_cast", 0, 0, "write of 4 bytes at byte 0 of argument 1"),
    ("cast_to_vector", "const-write", "(float4*)a", 0, 0, "write of 16 bytes at byte 0 of argument 1"),
    ("add_to_const", "const-write", "(float*)a", 0, 0, "atomic change of 4 bytes"),
    ("input_write", "input-write", "b[0] = 1.0f", 0, 0, "which is an input of the call"),
    ("input_scaled", "input-write", "out[thr", 0, 0, "write of 4 bytes at byte 0"),
    ("input_added_to", "input-write", "atomicCAS", 0, 0, "atomic change of 4 bytes"),
    ("barrier_in_both_branches", "barrier-divergence", "__sync", 0, 63, "at different __sync"),
    ("count_or_any", "barrier-divergence", "__syncthreads_or", 0, 63, "at different __sync"),
    ("loop_left_early", "barrier-divergence", "__syncthreads", 0, 63, "at different __sync"),
    ("half_at_the_barrier", "barrier-deadlock", "", 0, 31, "16 wait at a barrier, 16 in a warp"),
    ("mask_too_wide", "barrier-deadlock", "", 0, 31, "__shfl_sync with mask 0xffffffff"),
    ("barrier_in_one_branch", "barrier-deadlock", "", 0, 31, "16 wait at a barrier, 16 in a warp"),
    ("lane_of_nobody", "warp-inactive-lane", "__shfl_sync", 0, 0, "reads lane 20"),
    ("lanes_beyond_the_block", "warp-inactive-lane", "__shfl_down", 0, 47, "reads lane 16"),
    ("lane_that_left", "warp-inactive-lane", "__shfl_sync", 0, 1, "reads lane 0"),
    ("mask_of_the_others", "warp-mask", "__shfl_sync", 0, 0, "lane 0 is not in its own mask"),
    ("ballot_of_one", "warp-mask", "__ballot_sync", 0, 1, "lane 1 is not in its own mask"),
    ("sync_of_eight", "warp-mask", "__syncwarp", 0, 8, "lane 8 is not in its own mask"),
    ("below_sixteen", "device-assert", "assert(a", 0, 16, "a[threadIdx.x] < 16.0f"),
    ("roots", "device-assert", "assert(x", 0, 0, "a root of a negative number"),
    ("trap_above", "device-assert", "__trap", 0, 21, "__trap()"),
    ("rows_per_thread", "integer-divide-by-zero", "rows / threads", 0, 0, "division by zero"),
    ("column_of", "integer-divide-by-zero", "% columns", 0, 0, "division by zero"),
    ("wide_quotient", "integer-divide-by-zero", "count / parts", 0, 0, "division by zero"),
    ("recurse", "stack-overflow", "kept[", 0, 0, "more local memory"),
    ("never_ends", "stack-overflow", "", 0, 0, "more local memory"),
    ("two_recursions", "stack-overflow", "", 0, 0, "more local memory"),
    (
        "freed",
        "freed-pointer",
        "copy<<<",
        None,
        None,
        "argument 1 'from' of the kernel points to device",
    ),
    ("temporary_s_memory", "freed-pointer", "copy<<<", None, None, "4000 bytes that was freed"),
    ("freed_between", "freed-pointer", "kept, 16", None, None, "400 bytes that was freed"),
    (
        "address_of_a_variable",
        "host-pointer",
        "(scale, b)",
        None,
        None,
        "argument 1 'from' of the kernel points to the host's",
    ),
    (
        "memory_of_new",
        "host-pointer",
        "weights.data()",
        None,
        None,
        "argument 1 'from' of the kernel points",
    ),
    ("tensor_on_the_host", "host-pointer", "a.cpu()", None, None, "argument 1 'from' of the kernel points"),
    ("no_barrier_of_the_grid", "global-race", "b[(i + 32) % n]", 3, 0, "of block [0, 0, 0] writes it"),
    ("arrives_at_nothing", "device-assert", "mbarrier.try_wait", 0, 32, "an mbarrier that nobody has initialised"),
    ("waits_for_nobody", "barrier-deadlock", "__syncwarp", 0, 32, "an mbarrier in line"),
    ("begun_without_a_barrier", "shared-race", "mbarrier.arrive", 0, 1, "thread [0, 0, 0] has initialised"),
    ("arrives_twice", "device-assert", "mbarrier.arrive", 0, 0, "more arrivals at an mbarrier"),
    ("does_not_wait", "shared-race", "place[31 - lane]", 0, 32, "writes it at line"),
    ("reads_before_the_copy", "uninitialised-shared-read", "place[i]", 0, 0, "no thread of the block has written it"),
    ("copied_past", "illegal-address", "cp.async.bulk", 0, 0, "bytes 4000 to 4003 of argument 1"),
    ("named_barrier_of_more", "barrier-deadlock", "bar.sync 1", 0, 31, "a named barrier in line"),
    ("one_block_leaves", "barrier-deadlock", "this_grid().sync()", 1, 0, "2 of 3 blocks wait"),
    ("grid_without_launch", "device-assert", "this_grid().sync()", 0, 0, "isn't cooperative"),
    ("storage_used_twice", "shared-race", "twice = Reduce", 0, 32, "reads it at line"),
    ("storage_used_after_sort", "shared-race", "places[1]", 0, 1, "[0, 0, 0] reads it"),
    ("too_many_threads", "launch-error", "<<<1, 1025>>>", None, None, "blocks (1025, 1, 1)"),
    ("empty_grid", "launch-error", "touch<<<", None, None, "grid (0, 1, 1)"),
    ("grid_too_high", "launch-error", "dim3(1, 65536)", None, None, "grid (1, 65536, 1)"),
    ("too_much_shared", "launch-error", "49153", None, None, "49153 bytes of dynamic shared memory, 49152 are allowed"),
]
"""Of each the kind, the line's code, the block and the thread by their x, and words of the detail."""


@pytest.mark.parametrize(("name", "kind", "code", "block", "thread", "words"), FAULTS, ids=[row[0] for row in FAULTS])
def test_fault_is_found_with_its_values(
    outcomes: Outcomes, name: str, kind: str, code: str, block: int | None, thread: int | None, words: str
) -> None:
    where = (None, None) if block is None else ([block, 0, 0], [thread, 0, 0])
    found = [finding for finding in outcomes[name]["findings"] if finding["kind"] == kind]
    assert any(
        code in (finding["code"] or "")
        and words in finding["detail"]
        and (finding["block"], finding["thread"]) == where
        for finding in found
    ), outcomes[name]["findings"]
    lines = ["", "", "", *KERNELS.read_text().splitlines()]  # load_inline puts three includes before
    assert all(finding["code"] == lines[finding["line"] - 1].strip() for finding in found)
    assert FINDING_KINDS[kind].verdict not in (None, "unsupported")


REMARKS = [
    ("return_before_barrier", "barrier-after-exit"),
    ("loop_of_different_length", "barrier-after-exit"),
    ("half_wait", "barrier-after-exit"),
    ("same_flag", "same-value-write"),
    ("same_flag_of_blocks", "same-value-write"),
    ("flat_index", "array-row-overrun"),
    ("signed_hash", "signed-overflow"),
]


def test_threads_that_meet_at_different_barriers_are_a_fault(outcomes: Outcomes) -> None:
    assert {finding["kind"] for finding in outcomes["barrier_in_both_branches"]["findings"]} == {"barrier-divergence"}
    assert FINDING_KINDS["barrier-divergence"].verdict == "runtime_error"


@pytest.mark.parametrize(("name", "kind"), REMARKS)
def test_what_hardware_bears_is_a_remark(outcomes: Outcomes, name: str, kind: str) -> None:
    assert {finding["kind"] for finding in outcomes[name]["findings"]} == {kind}
    assert FINDING_KINDS[kind].verdict is None
    assert outcomes[name]["error"] is None


@pytest.mark.parametrize("source", ["kernels.cu", "solution.py"])
def test_referee_finds_the_same_remarks_in_the_solutions_files(outcomes: Outcomes, source: str) -> None:
    text = KERNELS.read_text()
    harmless = HarmlessFindings({source: text if source.endswith(".cu") else f'CUDA = """{text}"""\n'})
    findings = [Finding(**facts) for outcome in outcomes.values() for facts in outcome["findings"]]
    told = Counter(finding.kind for finding in findings)
    assert min(told["signed-overflow"], told["array-row-overrun"], told["index-overflow"]) > 0
    for finding in findings:
        assert harmless.settled(finding) == finding


LOOK_ALIKES = {
    "illegal-address": ("grid_stride", "edge_of_the_padding"),
    "host-pointer": ("copied_memory",),
    "freed-pointer": ("own_memory_filled",),
    "shared-out-of-bounds": ("dynamic_with_room", "transpose_padded"),
    "misaligned-address": ("reinterpret", "halves_of_neighbours", "pair_in_a_local_array"),
    "stack-overflow": ("shallow_recursion",),
    "array-index-out-of-bounds": ("window_sum", "local_to_the_last"),
    "uninitialised-shared-read": ("list_by_counter", "struct_copy", "copied_in_bulk"),
    "uninitialised-global-read": ("own_memory_filled", "written_by_torch", "made_by_torch", "second_launch"),
    "input-write": ("input_doubled", "in_place"),
    "const-write": ("read_const",),
    "unwritten-output": ("whole_outputs",),
    "index-overflow": ("wide_index", "wrapping_hash"),
    "shared-race": (
        "handed_over",
        "storage_used_after_barrier",
        "sort_then_barrier",
        "double_buffer",
        "tree_in_shared",
        "warp_tree",
        "scan_in_place",
        "halves_of_neighbours",
    ),
    "global-race": (
        "barrier_of_the_grid",
        *("exchange_loop", "atomics_alone", "largest_block", "last_block_sums", "spin_on_a_flag", "spin_lock"),
        *("released_to_blocks", "volatile_to_blocks"),
        "bytes_of_neighbours",
    ),
    "launch-error": ("largest_launches",),
    "barrier-deadlock": (
        *("spin_on_a_flag", "shuffle_within_half", "handed_over", "part_of_a_warp", "looks_before_it_arrives"),
    ),
    "device-assert": ("roots_of_the_others",),
    "integer-divide-by-zero": ("rows_for_two_threads",),
    "warp-inactive-lane": ("reduce_by_shuffle", "shuffle_within_half"),
    "warp-mask": ("all_in_the_mask", "shuffle_within_half"),
    "barrier-divergence": (
        *("blocks_choose_a_branch", "loop_left_together", "all_at_the_barrier", "blocks_leave_whole"),
        "leave_after_the_last",
    ),
}
"""By the kind of fault: honest kernels that come near it."""
HONEST = sorted({name for names in LOOK_ALIKES.values() for name in names})


def test_a_graph_writes_what_its_replay_launches(outcomes: Outcomes) -> None:
    assert outcomes["replayed"] == {"error": None, "findings": [], "value": [COUNT, COUNT - 32]}


@pytest.mark.parametrize("name", HONEST)
def test_honest_look_alike_is_left_alone(outcomes: Outcomes, name: str) -> None:
    assert outcomes[name] == {"error": None, "findings": [], "value": None}


def test_documentation_has_the_examples_as_they_are(outcomes: Outcomes) -> None:
    faults = {kind for kind, about in FINDING_KINDS.items() if about.verdict not in (None, "unsupported")}
    assert set(EXAMPLES) == faults
    page, gcc = PAGE.read_text(), find_compiler().version
    if f"g++ {gcc}" not in page:
        pytest.skip(f"the page has g++'s words for types and lines, of another g++ than {gcc}")
    assert with_examples(page, outcomes) == page, "python -m tests.cudasim.fault_page"


UNWRITTEN = [
    ("half_an_output", "984 of the 1,000 elements of output 0 (1000, float32) were never written, the first at [16]"),
    (
        "gap_in_an_output",
        "1 of the 1,000 elements of output 0 (10×100, float32) were never written, the first at [2, 5]",
    ),
    ("second_output", "1,000 of the 1,000 elements of output 1 (1000, float32) were never written, the first at [0]"),
]


@pytest.mark.parametrize(("name", "detail"), UNWRITTEN)
def test_unwritten_elements_of_an_output_are_counted(outcomes: Outcomes, name: str, detail: str) -> None:
    assert [finding["detail"] for finding in outcomes[name]["findings"]] == [detail]
    assert outcomes[name]["findings"][0]["kind"] == "unwritten-output"


def test_every_kind_of_fault_has_three_kernels_and_a_look_alike_at_least() -> None:
    kinds = {kind for kind, about in FINDING_KINDS.items() if about.verdict not in (None, "unsupported")}
    faulty = {(name, kind) for name, kind, *_ in FAULTS} | {(name, "unwritten-output") for name, _ in UNWRITTEN}
    counts = Counter(kind for _, kind in faulty)
    assert {kind: counts[kind] for kind in kinds if counts[kind] < 3} == {}
    assert {kind for kind, names in LOOK_ALIKES.items() if names} == kinds
    assert {name for name, _ in faulty}.isdisjoint(HONEST)


def test_pointer_into_a_local_array_is_missed_as_the_page_says(outcomes: Outcomes) -> None:
    assert outcomes["local_past_by_pointer"]["findings"] == []
    assert tells(PAGE.read_text(), "array of a thread's", "its end")


def test_sampled_blocks_at_the_full_shape_cost_what_they_touch(outcomes: Outcomes) -> None:
    outcome = outcomes["sampled_at_the_full_shape"]
    assert outcome["findings"] == []
    assert outcome["value"] == [[1.5, 1.5], True]


def test_narrow_index_at_the_full_shape_is_found(outcomes: Outcomes) -> None:
    kinds = [finding["kind"] for finding in outcomes["sampled_with_a_narrow_index"]["findings"]]
    assert kinds == ["index-overflow", "illegal-address"]
