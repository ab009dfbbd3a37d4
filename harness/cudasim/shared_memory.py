"""`__shared__` declarations as C++; each function of the device that names one from outside functions gets it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.cudasim.tokens import Token, Unbalanced, closing, is_in_macro, opening, plain_text, previous_visible
from harness.cudasim.unsupported import Unsupported

_STATEMENT_ENDS = (";", "{", "}", ")", ":")
_AFTER_PARAMETERS = ("const", "noexcept", "override", "final")


def with_shared_memory(tokens: list[Token], is_header: bool) -> list[Token]:
    tokens = list(tokens)
    i, count = 0, 0
    for_functions: list[_BlockVariable] = []
    while i < len(tokens):
        if tokens[i].kind == "name" and tokens[i].text == "__shared__":
            start, end = _declaration(tokens, i)
            line, shared = tokens[start].line, _shared_code(tokens[start:end], count)
            code = f"{shared.type}; {'; '.join(reference.code for reference in shared.references)}"
            if not is_in_macro(tokens, start) and _is_outside_functions(tokens, start):
                if is_header:
                    raise Unsupported("__shared__ outside a function", tokens[i].line)
                for_functions += shared.references
                code = shared.type
            tokens[start:end] = [Token("code", code, line)]
            i, count = start, count + 1
        i += 1
    return _with_references(tokens, for_functions)


def _declaration(tokens: list[Token], index: int) -> tuple[int, int]:
    """Return the positions of the declaration's first token and of its semicolon."""
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
    """Say whether a preprocessor line ends the statement before, without a semicolon."""
    has_directive = any(token.kind == "directive" for token in tokens[before:start])
    return has_directive or is_in_macro(tokens, before) != is_in_macro(tokens, start)


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
    references: tuple[_BlockVariable, ...]


def _shared_code(declaration: list[Token], count: int) -> _Shared:
    words = [token.text for token in declaration if token.kind == "name"]
    body = [t for t in declaration if t.text not in ("__shared__", "static", "extern") or t.kind != "name"]
    names = _declared_names(body)
    text = plain_text(body).strip()
    if "extern" in words:
        return _dynamic_code(text, names, count, declaration[0].line)
    struct = f"sim_shared_{count}"
    declared = ", ".join(names)
    references = (
        _BlockVariable(name, f'auto& {name} = ::sim::shared_static<{struct}>("{declared}").{name}') for name in names
    )
    return _Shared(f"struct {struct} {{ {text}; }}", tuple(references))


def _dynamic_code(text: str, names: list[str], count: int, line: int) -> _Shared:
    if len(names) != 1:
        raise Unsupported("several names in one extern __shared__ declaration", line)
    array = f"sim_dynamic_{count}"
    declared = re.sub(rf"\b{names[0]}\b(?=\s*(\[[^]]*\]\s*)*\Z)", array, text)
    reference = _BlockVariable(names[0], f"auto& {names[0]} = *({array}*)sim_shared_dynamic()")
    return _Shared(f"typedef {declared}", (reference,))


def _declared_names(declaration: list[Token]) -> list[str]:
    """List the names before `[`, `,` or the end, outside of brackets and template arguments."""
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


@dataclass(frozen=True)
class _BlockVariable:
    """A declaration of `name` as the block's own: `code`, without a semicolon."""

    name: str
    code: str


def _with_references(tokens: list[Token], references: Sequence[_BlockVariable]) -> list[Token]:
    """Declare before each body of a device function what it names."""
    if not references:
        return tokens
    result = list(tokens)
    for body in reversed(list(device_functions(tokens))):
        needed = [reference for reference in references if body.names(reference.name)]
        if needed:
            # In a scope around the body, so that a local variable may bear the name.
            code = "; ".join(reference.code for reference in needed)
            result.insert(body.end, Token("code", "}", tokens[body.end].line))
            result.insert(body.start + 1, Token("code", f" {code}; {{", tokens[body.start].line))
    return result


@dataclass(frozen=True)
class FunctionBody:
    tokens: list[Token]
    start: int
    """Its opening brace; `end` is the closing one."""
    end: int
    parameters: tuple[int, int]

    def holds(self, index: int) -> bool:
        """Say whether the token at `index` belongs to its parameters or its body."""
        return self.parameters[0] <= index <= self.end

    def names(self, name: str) -> bool:
        """Say whether its body uses `name`, and no parameter has it."""
        first, last = self.parameters
        if any(token.text == name for token in self.tokens[first:last]):
            return False
        return any(
            self.tokens[i].kind == "name" and self.tokens[i].text == name and not self._is_member(i)
            for i in range(self.start, self.end)
        )

    def _is_member(self, index: int) -> bool:
        before = previous_visible(self.tokens, index)
        return before is not None and self.tokens[before].text in (".", "->", "::")


def device_functions(tokens: list[Token]) -> Iterator[FunctionBody]:
    """Find the functions that run on the device, in their order. Raises Unbalanced."""
    i = 0
    while i < len(tokens):
        if tokens[i].kind == "symbol" and tokens[i].text == "{":
            parameters = _parameters_before(tokens, i)
            if parameters is not None:
                end = closing(tokens, i)
                if _is_for_device(tokens, parameters[0]):
                    yield FunctionBody(tokens, i, end, parameters)
                i = end
        i += 1


def _parameters_before(tokens: list[Token], brace: int) -> tuple[int, int] | None:
    before = previous_visible(tokens, brace)
    while before is not None and tokens[before].text in _AFTER_PARAMETERS:
        before = previous_visible(tokens, before)
    if before is None or tokens[before].text != ")":
        return None
    return opening(tokens, before), before


def _is_for_device(tokens: list[Token], index: int) -> bool:
    before = previous_visible(tokens, index)
    while before is not None and tokens[before].text not in (";", "{", "}"):
        if tokens[before].text in ("__global__", "__device__"):
            return True
        before = previous_visible(tokens, before)
    return False
