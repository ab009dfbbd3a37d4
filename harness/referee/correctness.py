"""The correctness of one case: several turns with inputs drawn at run time, each against the oracle."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from harness.backends.base import Finding, Host
from harness.records.check import Check
from harness.records.config import Config
from harness.records.evaluation import WeightsSource
from harness.referee.judgement import describe_finding, judge_form, judge_values, require_passed
from harness.referee.outcome import SolutionFailed
from harness.referee.sampling import check_sampled, must_be_sampled
from harness.referee.setting import Setting
from harness.referee.table import Table
from harness.referee.turns import construct_arm, take_turn
from harness.referee.worker_process import WorkerProcess

Notify = Callable[[str], None]
"""Told what is happening, in a few words."""


@dataclass(frozen=True)
class CaseOutcome:
    """What checking a case gave; a failing check ends it. `remarks` are what is worth saying beyond the verdict."""

    checks: tuple[Check, ...]
    remarks: tuple[str, ...]
    weights: WeightsSource
    failed: SolutionFailed | None = None


def check_case(setting: Setting, host: Host, worker: WorkerProcess, config: Config, notify: Notify) -> CaseOutcome:
    """Judge the worker's module on one case.

    Raises: SolutionFailed where no comparison came about.
    """
    with _at(setting.case, None):
        if must_be_sampled(setting, host):
            notify(f"checking {setting.case} (sampled blocks)")
            return CaseOutcome(*check_sampled(setting, host, worker, config))
        return _check_complete(setting, host, worker, config, notify)


def _check_complete(setting: Setting, host: Host, worker: WorkerProcess, config: Config, notify: Notify) -> CaseOutcome:
    checks: list[Check] = []
    findings: list[Finding] = []
    failed = None
    with Table(host, setting.spec) as table:
        table.lay_inputs(setting.reference.make_inputs(setting.seed("inputs", 0)))
        table.seat(worker, config.limits.load_s)
        weights = construct_arm(worker, table, setting, config.limits)
        for index in range(config.correctness.seeds):
            notify(f"checking {setting.case} {index + 1}/{config.correctness.seeds}")
            seed = setting.seed("inputs", index)
            with _at(setting.case, seed):
                inputs = setting.reference.make_inputs(seed)
                table.lay_inputs(inputs)
                if host.torch_device == "cuda":
                    torch.cuda.empty_cache()  # the worker needs the memory more
                reply = take_turn(worker, table, config.limits).reply
                judge_form(reply, setting.spec)
            findings += reply.findings
            if index == 0:
                setting.oracle.verify_independence(inputs, setting.spec)
            compared = judge_values(table.outputs(), inputs, setting)
            checks.append(setting.check(seed, "complete", compared))
            if failed := failure_of(checks[-1]):
                break
    remarks = [f"{setting.case}: {describe_finding(finding)}" for finding in findings]
    if setting.oracle.why_float32:
        remarks.append(setting.oracle.why_float32)
    return CaseOutcome(tuple(checks), tuple(remarks), weights, failed)


def failure_of(check: Check) -> SolutionFailed | None:
    """The failure that a check amounts to, placed at its case and seed."""
    try:
        with _at(check.case, check.seed):
            require_passed(check)
    except SolutionFailed as error:
        return error
    return None


@contextmanager
def _at(case: str, seed: int | None) -> Iterator[None]:
    """A failure inside is recorded with the case and the seed that reproduce it."""
    try:
        yield
    except SolutionFailed as error:
        if error.failure.case is None:
            error.failure = dataclasses.replace(error.failure, case=case, seed=seed)
        raise
