"""CUDA C++ to C++: rewrites launches and `__shared__` declarations, and leaves every line where it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.cudasim.file_scope import SharedReference, with_references
from harness.cudasim.nested_launches import refuse_nested_launches
from harness.cudasim.tokens import (
    Token,
    Unbalanced,
    closing,
    next_visible,
    opening,
    previous_visible,
    tokenize,
)
from harness.cudasim.unsupported import Unsupported, refuse_unsupported
from harness.cudasim.unused import without_unused

__all__ = ["Unsupported", "translate"]

_STATEMENT_ENDS = (";", "{", "}", ")", ":")
_STATEMENT_WORDS = ("return", "else", "do")


def translate(source: str, path: str, include: Callable[[str], str] = str, is_header: bool = False) -> str:
    """The C++ of a `.cu` file, or of a header of one, that will be known to the compiler as `path`.

    `include` gives each `#include` line its new text. Raises Unsupported for what the simulator has no counterpart for.
    """
    tokens = without_unused(tokenize(source))
    refuse_unsupported(tokens)
    refuse_nested_launches(tokens)
    tokens = [replace(t, text=include(t.text)) if t.kind == "directive" else t for t in tokens]
    tokens = _with_launches(_with_shared_memory(tokens, is_header))
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{quoted}"\n' + "".join(token.text for token in tokens)


# ---- __shared__ declarations.


def _with_shared_memory(tokens: list[Token], is_header: bool) -> list[Token]:
    tokens = list(tokens)
    i, count = 0, 0
    for_functions: list[SharedReference] = []
    while i < len(tokens):
        if tokens[i].kind == "name" and tokens[i].text == "__shared__":
            start, end = _declaration(tokens, i)
            line, shared = tokens[start].line, _shared_code(tokens[start:end], count)
            code = f"{shared.type}; {'; '.join(reference.code for reference in shared.references)}"
            if not _is_in_macro(tokens, start) and _is_outside_functions(tokens, start):
                if is_header:
                    raise Unsupported("__shared__ outside a function", tokens[i].line)
                for_functions += shared.references
                code = shared.type
            tokens[start:end] = [Token("code", code, line)]
            i, count = start, count + 1
        i += 1
    return with_references(tokens, for_functions)


def _declaration(tokens: list[Token], index: int) -> tuple[int, int]:
    """From the first token of the declaration to its semicolon."""
    start = index
    while (before := previous_visible(tokens, start)) is not None:
        is_alignas = tokens[before].text == ")" and tokens[_name_before_call(tokens, before)].text == "alignas"
        if tokens[before].text in _STATEMENT_ENDS and not is_alignas:
            break
        if _is_across_directive(tokens, before, start):
            break
        start = _name_before_call(tokens, before) if is_alignas else before
    end = index
    while end < len(tokens) and tokens[end].text != ";":
        end = closing(tokens, end) if tokens[end].text in ("(", "[", "{") else end
        end += 1
    return start, end


def _is_across_directive(tokens: list[Token], before: int, start: int) -> bool:
    """Whether a preprocessor line ends the statement before, without a semicolon."""
    has_directive = any(token.kind == "directive" for token in tokens[before:start])
    return has_directive or _is_in_macro(tokens, before) != _is_in_macro(tokens, start)


def _name_before_call(tokens: list[Token], close: int) -> int:
    try:
        before = previous_visible(tokens, opening(tokens, close))
    except Unbalanced:
        before = None
    return close if before is None else before


def _is_outside_functions(tokens: list[Token], index: int) -> bool:
    depth = 0
    for i in range(index - 1, -1, -1):
        text = tokens[i].text if tokens[i].kind == "symbol" else ""
        depth += (text == "}") - (text == "{")
        if depth < 0:
            if not _opens_namespace(tokens, i):
                return False
            depth = 0
    return True


def _is_in_macro(tokens: list[Token], index: int) -> bool:
    """A macro's body runs to the first newline that is not escaped; where it is used, it may be in a function."""
    line = next((i for i in range(index - 1, -1, -1) if tokens[i].kind in ("newline", "directive")), None)
    return line is not None and tokens[line].kind == "directive"


def _opens_namespace(tokens: list[Token], brace: int) -> bool:
    words = []
    i = previous_visible(tokens, brace)
    while i is not None and tokens[i].text not in (";", "{", "}", ")"):
        words.append(tokens[i].text)
        i = previous_visible(tokens, i)
    return "namespace" in words or '"C"' in words


@dataclass(frozen=True)
class _Shared:
    """The C++ of a declaration: a type at its place, and what brings each name into a function."""

    type: str
    references: tuple[SharedReference, ...]


def _shared_code(declaration: list[Token], count: int) -> _Shared:
    words = [token.text for token in declaration if token.kind == "name"]
    body = [t for t in declaration if t.text not in ("__shared__", "static", "extern") or t.kind != "name"]
    names = _declared_names(body)
    text = _plain(body).strip()
    if "extern" in words:
        return _dynamic_code(text, names, count, declaration[0].line)
    struct = f"sim_shared_{count}"
    declared = ", ".join(names)
    references = (
        SharedReference(name, f'auto& {name} = ::sim::shared_static<{struct}>("{declared}").{name}') for name in names
    )
    return _Shared(f"struct {struct} {{ {text}; }}", tuple(references))


def _dynamic_code(text: str, names: list[str], count: int, line: int) -> _Shared:
    if len(names) != 1:
        raise Unsupported("several names in one extern __shared__ declaration", line)
    array = f"sim_dynamic_{count}"
    head, bracket, tail = text.rpartition("[")
    stem = head.rstrip().removesuffix(names[0])
    reference = SharedReference(names[0], f"auto& {names[0]} = *({array}*)sim_shared_dynamic()")
    return _Shared(f"typedef {stem}{array}{bracket}{tail}", (reference,))


def _declared_names(declaration: list[Token]) -> list[str]:
    """The names before `[`, `,` or the end, outside of brackets and template arguments."""
    visible = [token for token in declaration if token.is_visible]
    names, depth, angle = [], 0, 0
    for i, token in enumerate(visible):
        after = visible[i + 1].text if i + 1 < len(visible) else ";"
        if token.kind == "name" and depth == angle == 0 and after in ("[", ",", ";"):
            names.append(token.text)
        elif token.text == "=" and depth == angle == 0:
            raise Unsupported("initialised __shared__ variable (nvcc refuses it too)", token.line)
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        angle += (token.text == "<") - (token.text == ">") if depth == 0 else 0
    return names


# ---- Launches.


def _with_launches(tokens: list[Token]) -> list[Token]:
    written: list[Token] = []
    done = 0
    for index, token in enumerate(tokens):
        if token.text != "<<<" or index < done:
            continue
        try:
            start, end, code = _launch(tokens, index)
        except (Unbalanced, IndexError):
            raise Unsupported("a launch whose brackets don't match", token.line) from None
        written += [*tokens[done:start], Token("code", code, tokens[start].line)]
        done = end
    return written + tokens[done:]


def _launch(tokens: list[Token], index: int) -> tuple[int, int, str]:
    """First token, end and replacement of the launch whose `<<<` is at `index`."""
    close = index + 1
    while tokens[close].text != ">>>":
        close = closing(tokens, close) if tokens[close].text in ("(", "[", "{") else close
        close += 1
    left = next_visible(tokens, close)
    if left is None or tokens[left].text != "(":
        raise Unsupported("a launch without arguments in parentheses", tokens[index].line)
    right = closing(tokens, left)
    start = _kernel_start(tokens, index)
    kernel = _plain(tokens[start:index]).strip()
    configuration, arguments = _plain(tokens[index + 1 : close]), _plain(tokens[left + 1 : right])
    gap = _plain(tokens[close + 1 : left])
    label = " ".join(kernel.replace("\\", " ").replace('"', "'").split())
    code = (
        f'::sim::Launcher{{::sim::Configuration({configuration}), "{label}", __FILE__, __LINE__}}'
        f"{gap}.with({arguments})([&](auto&... sim_argument) {{ {kernel}(sim_argument...); }})"
    )
    return start, right + 1, code


def _kernel_start(tokens: list[Token], index: int) -> int:
    """The first token of the expression that names the kernel, left of `<<<`."""
    end = previous_visible(tokens, index)
    while end is not None:
        start = _operand_start(tokens, end)
        before = previous_visible(tokens, start)
        if before is None or tokens[before].text not in ("::", ".", "->"):
            return start
        owner = previous_visible(tokens, before)
        if owner is None or not _is_owner(tokens[owner], tokens[before].text):
            return before
        end = owner
    raise Unbalanced("<<<")


def _operand_start(tokens: list[Token], end: int) -> int:
    """Of a name with its template arguments, indices and calls, or of an expression in parentheses."""
    while True:
        start = end
        if tokens[end].text in (">", ">>>"):
            start = _template_opening(tokens, end)
        elif tokens[end].text in (")", "]"):
            start = opening(tokens, end)
        before = previous_visible(tokens, start)
        if start == end or before is None:
            return start
        if tokens[end].text == ")" and not (_is_name(tokens[before]) or tokens[before].text in (">", "]")):
            return start
        end = before


def _is_owner(token: Token, separator: str) -> bool:
    """`if (c) ::kernel` has no owner, `get(c).kernel` has."""
    return _is_name(token) or token.text in ((">",) if separator == "::" else (">", ")", "]"))


def _is_name(token: Token) -> bool:
    return token.kind == "name" and token.text not in _STATEMENT_WORDS


def _template_opening(tokens: list[Token], index: int) -> int:
    depth, i = 0, index
    while i >= 0:
        text = tokens[i].text if tokens[i].kind == "symbol" else ""
        if text in (";", "{"):
            break
        if text in (")", "]", "}"):
            i = opening(tokens, i)
        depth += {">": 1, ">>>": 3, "<": -1, "<<<": -3}.get(text, 0)
        if depth == 0 and text:
            return i
        i -= 1
    raise Unbalanced(">")


def _plain(tokens: list[Token]) -> str:
    """The text without comments, which could swallow what we write behind it; its newlines stay."""
    return "".join("\n" * t.text.count("\n") + " " if t.kind == "comment" else t.text for t in tokens)
