"""The task for a language model: what to write, what it is judged by, and the reference."""

from __future__ import annotations

from collections.abc import Sequence

from harness.reports.untrusted import harmless

_RULES = """\
- Define a class ModelNew. Its constructor and its forward() take what Model's take, and forward() returns what
  Model's returns: the same shapes and dtypes.
- Give parameters and buffers the names and shapes that Model gives them: the reference's values are loaded by name.
- Write kernels of your own, in CUDA C++ (torch.utils.cpp_extension.load_inline, at module level) or in Triton. Any
  part of the work may stay with torch, but a solution whose own kernels do nothing is rejected.
- Compute anew on every call: outputs of earlier calls, and values that only these inputs have, are not to be used.
- Launch on the current stream, and don't synchronise in forward().
- Outputs are compared with the reference in float64, on several seeds and on changed inputs. The declared precision is
  {precision}. Speed counts only where values are right."""


def prompt_text(title: str, source: str, precision: str, cases: Sequence[str], description: str = "") -> str:
    """`source` is the reference's, `cases` are the problem's."""
    pieces = [
        "Write a faster replacement for the PyTorch module Model below, with GPU kernels of your own.",
        f"# Task: {harmless(title)}\n\n{harmless(description).strip()}".rstrip(),
        f"# Rules\n\n{_RULES.format(precision=precision)}",
        f"# Cases\n\n{_cases(cases)}",
        f"# Reference\n\n{fenced(source, 'python')}",
        "# Answer\n\nAnswer with the whole file in one Python block: imports, kernels, and ModelNew.",
    ]
    return "\n\n".join(pieces) + "\n"


def fenced(text: str, language: str = "") -> str:
    """A block of Markdown that its own text can't end."""
    plain = harmless(text).rstrip()
    fence = "```"
    while fence in plain:
        fence += "`"
    return f"{fence}{language}\n{plain}\n{fence}"


def _cases(names: Sequence[str]) -> str:
    if len(names) == 1:
        return "The sizes are those of the reference as it stands."
    return (
        f"It must be right in each of these: {', '.join(map(harmless, names))}. 'full' is the reference as it stands."
    )
