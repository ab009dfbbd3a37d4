"""Which cores measure and which compile."""

from __future__ import annotations

import os
import threading

from harness.run.cores import core_groups, divide_cores, keep_thread_to


def cores(count: int) -> list[frozenset[int]]:
    return [frozenset({cpu}) for cpu in range(count)]


def test_a_gpu_has_two_cores_and_compilers_the_rest() -> None:
    divided = divide_cores(1, cores(16), None)
    assert divided.lanes == (frozenset({0, 1}),)
    assert divided.builds == frozenset(range(2, 16))
    assert divided.usable == 16


def test_every_gpu_has_cores_of_its_own() -> None:
    divided = divide_cores(3, cores(10), None)
    assert divided.lanes == (frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5}))
    assert divided.builds == frozenset({6, 7, 8, 9})


def test_hyper_threads_stay_with_their_core() -> None:
    divided = divide_cores(1, [frozenset({cpu, cpu + 4}) for cpu in range(4)], None)
    assert divided.lanes == (frozenset({0, 1, 4, 5}),)
    assert divided.builds == frozenset({2, 3, 6, 7})


def test_too_few_cores_are_not_divided() -> None:
    for lanes, count in ((1, 1), (1, 3), (4, 9)):
        divided = divide_cores(lanes, cores(count), None)
        assert (divided.lanes, divided.builds, divided.usable) == (None, None, count)


def test_compilers_leave_a_containers_quota_to_the_measurement() -> None:
    divided = divide_cores(1, cores(64), 8.0)
    assert divided.lanes == (frozenset({0, 1}),)
    assert divided.builds == frozenset({2, 3, 4, 5, 6, 7})
    assert divided.usable == 8


def test_a_quota_too_small_to_share_is_not_shared() -> None:
    divided = divide_cores(1, cores(64), 3.5)
    assert (divided.lanes, divided.builds, divided.usable) == (None, None, 3)


def test_the_groups_hold_every_usable_cpu_once() -> None:
    flat = [cpu for group in core_groups() for cpu in group]
    assert sorted(flat) == sorted(os.sched_getaffinity(0))


def test_a_pinned_thread_leaves_the_others_alone() -> None:
    everything, one = os.sched_getaffinity(0), frozenset({min(os.sched_getaffinity(0))})
    seen: list[set[int]] = []

    def pinned() -> None:
        keep_thread_to(one, is_background=True)
        seen.append(os.sched_getaffinity(0))
        seen.append({os.getpriority(os.PRIO_PROCESS, threading.get_native_id())})

    thread = threading.Thread(target=pinned)
    thread.start()
    thread.join()
    assert seen[0] == set(one)
    assert min(seen[1]) >= 10
    assert os.sched_getaffinity(0) == everything
