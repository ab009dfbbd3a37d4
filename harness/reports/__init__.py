"""Reports: what people and programs read, made from records alone.

Everything that other rooms may use is named here; the rest is this room's own. A name is imported when it is first
used, so that a command loads the reports that it prints and no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.reports.compare import compare_report
    from harness.reports.diff import Difference, difference_json, difference_report
    from harness.reports.evaluation import log_text, show_report, source_text
    from harness.reports.explain import all_explained, everything_explained, explained, explanation_of
    from harness.reports.export import kernelbench_files, score_json, scores_table, timings_csv, to_csv, to_kernelbench
    from harness.reports.gate import gate_json, gate_report, snapshot_table
    from harness.reports.github import (
        SUMMARY_BYTES,
        annotation_commands,
        gate_markdown,
        resuming,
        stopping,
        without_old_commands,
    )
    from harness.reports.history import histories, history_json, history_report, save_history_plot
    from harness.reports.junit import junit_xml
    from harness.reports.leaderboard.board import Board, make_board, measurements
    from harness.reports.leaderboard.forms import (
        leaderboard_json,
        leaderboard_markdown,
        leaderboard_table,
        save_leaderboard_plot,
    )
    from harness.reports.leaderboard.page import leaderboard_html, shown_in_full
    from harness.reports.leaderboard.rules import Wanted
    from harness.reports.machine import ceilings_json, ceilings_table, findings_table
    from harness.reports.numbers import format_speedup
    from harness.reports.pictures import PICTURE_FORMATS, draw_pictures
    from harness.reports.problem_check import problem_check_json, problem_check_report
    from harness.reports.prompt import feedback_text, prompt_text
    from harness.reports.run import run_report
    from harness.reports.sarif import sarif_json
    from harness.reports.terminal import plain_text, verdict_text
    from harness.reports.timing import timing_json
    from harness.reports.tools import profile_json, profile_report, sanitizing_json, sanitizing_report
    from harness.reports.untrusted import harmless, one_line, quoted, shortened
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
