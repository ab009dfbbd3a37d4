"""Reports: what people and programs read, made from records alone.

Everything that other rooms may use is named here; the rest is this room's own. A name is imported when it is first
used, so that a command loads the reports that it prints and no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.reports.blocks import several as several
    from harness.reports.compare import compare_report as compare_report
    from harness.reports.diff import Difference as Difference
    from harness.reports.diff import difference_json as difference_json
    from harness.reports.diff import difference_report as difference_report
    from harness.reports.evaluation import log_text as log_text
    from harness.reports.evaluation import show_report as show_report
    from harness.reports.evaluation import source_text as source_text
    from harness.reports.explain import all_explained as all_explained
    from harness.reports.explain import everything_explained as everything_explained
    from harness.reports.explain import explained as explained
    from harness.reports.export import kernelbench_files as kernelbench_files
    from harness.reports.export import score_json as score_json
    from harness.reports.export import scores_table as scores_table
    from harness.reports.export import timings_csv as timings_csv
    from harness.reports.export import to_csv as to_csv
    from harness.reports.export import to_kernelbench as to_kernelbench
    from harness.reports.gate import gate_json as gate_json
    from harness.reports.gate import gate_report as gate_report
    from harness.reports.gate import snapshot_table as snapshot_table
    from harness.reports.github import SUMMARY_BYTES as SUMMARY_BYTES
    from harness.reports.github import annotation_commands as annotation_commands
    from harness.reports.github import gate_markdown as gate_markdown
    from harness.reports.github import resuming as resuming
    from harness.reports.github import stopping as stopping
    from harness.reports.github import without_old_commands as without_old_commands
    from harness.reports.history import histories as histories
    from harness.reports.history import history_json as history_json
    from harness.reports.history import history_report as history_report
    from harness.reports.history import save_history_plot as save_history_plot
    from harness.reports.junit import junit_xml as junit_xml
    from harness.reports.leaderboard.board import Board as Board
    from harness.reports.leaderboard.board import make_board as make_board
    from harness.reports.leaderboard.board import measurements as measurements
    from harness.reports.leaderboard.forms import leaderboard_json as leaderboard_json
    from harness.reports.leaderboard.forms import leaderboard_markdown as leaderboard_markdown
    from harness.reports.leaderboard.forms import leaderboard_table as leaderboard_table
    from harness.reports.leaderboard.forms import save_leaderboard_plot as save_leaderboard_plot
    from harness.reports.leaderboard.page import leaderboard_html as leaderboard_html
    from harness.reports.leaderboard.page import shown_in_full as shown_in_full
    from harness.reports.leaderboard.rules import Wanted as Wanted
    from harness.reports.machine import ceilings_json as ceilings_json
    from harness.reports.machine import ceilings_table as ceilings_table
    from harness.reports.machine import findings_table as findings_table
    from harness.reports.numbers import format_speedup as format_speedup
    from harness.reports.pictures import PICTURE_FORMATS as PICTURE_FORMATS
    from harness.reports.pictures import pictures_json as pictures_json
    from harness.reports.pictures import pictures_of as pictures_of
    from harness.reports.pictures import write_pictures as write_pictures
    from harness.reports.problem_check import problem_check_json as problem_check_json
    from harness.reports.problem_check import problem_check_report as problem_check_report
    from harness.reports.prompt import feedback_text as feedback_text
    from harness.reports.prompt import prompt_text as prompt_text
    from harness.reports.run import run_report as run_report
    from harness.reports.sarif import sarif_json as sarif_json
    from harness.reports.terminal import plain_text as plain_text
    from harness.reports.terminal import verdict_text as verdict_text
    from harness.reports.timing import timing_json as timing_json
    from harness.reports.tools import profile_json as profile_json
    from harness.reports.tools import profile_report as profile_report
    from harness.reports.tools import sanitizing_json as sanitizing_json
    from harness.reports.tools import sanitizing_report as sanitizing_report
    from harness.reports.untrusted import harmless as harmless
    from harness.reports.untrusted import one_line as one_line
    from harness.reports.untrusted import quoted as quoted
    from harness.reports.untrusted import shortened as shortened
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
