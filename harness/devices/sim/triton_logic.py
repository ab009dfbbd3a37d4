"""`and`, `or` and `not` of blocks for Triton's interpreter, where they ask whether all of a block is true, and `for`,
which counts in Python's numbers there.

Triton's compiler takes them element by element, and evaluates all operands but for constants that decide. It counts in
tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any  # Triton has no types

_JOINED, _NEGATED, _COUNTED = "_joined_blocks", "_negated_block", "_counted"
"""Names among the interpreter's, which it gives to the modules of kernels."""
_METHODS = {ast.And: "logical_and", ast.Or: "logical_or"}


def offer_logic(interpreter: Any) -> None:
    """Rewrite these operators in kernels, as the interpreter does with others."""
    tensor, transformer = interpreter.tl.tensor, interpreter.ASTTransformer

    def joined(method: str, *operands: Callable[[], Any]) -> Any:
        blocks, value = [], None
        for operand in operands:
            value = operand()
            if isinstance(value, tensor):
                blocks.append(value)
            elif bool(value) is (method == "logical_or"):
                return value
        result = blocks.pop() if blocks else value
        while blocks:
            result = getattr(blocks.pop(), method)(result)
        return result

    def negated(value: Any) -> Any:
        return value.__not__() if isinstance(value, tensor) else not value

    class LoopNumber(int):
        """A number that a loop counts, with what kernels ask of it as a tensor."""

        def to(self, dtype: Any) -> Any:
            return interpreter.tl.full((), int(self), dtype)

    def counted(values: Any) -> Any:
        return map(LoopNumber, values) if isinstance(values, range) else values

    def visit_bool_op(self: Any, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        operands = [ast.Lambda(args=nothing, body=value) for value in node.values]
        return _call(_JOINED, [ast.Constant(_METHODS[type(node.op)]), *operands], node)

    def visit_unary_op(self: Any, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _call(_NEGATED, [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_for(self: Any, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = _call(_COUNTED, [node.iter], node.iter)
        return node

    for name, function in ((_JOINED, joined), (_NEGATED, negated), (_COUNTED, counted)):
        setattr(interpreter, name, function)
    transformer.visit_BoolOp, transformer.visit_UnaryOp = visit_bool_op, visit_unary_op
    transformer.visit_For = visit_for


def _call(name: str, arguments: list[ast.expr], place: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=arguments, keywords=[]), place)
