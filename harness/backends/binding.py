"""The source of a Python module of C++ functions, bound by harness/binding.h instead of pybind11."""

from __future__ import annotations

import json
from pathlib import Path

HEADER_FOLDER = Path(__file__).parents[1] / "worker" / "headers" / "harness"


def binding(functions: dict[str, str]) -> str:
    """C++ that makes a module of `functions`, names with their docstrings."""
    names = [f'struct Name{i} {{ static constexpr const char* text = "{name}"; }};' for i, name in enumerate(functions)]
    methods = [
        f"harness::method<&{name}, Name{i}>({_c_string(doc)})," for i, (name, doc) in enumerate(functions.items())
    ]
    return "\n".join(
        [
            "#include <harness/binding.h>",
            "namespace {",
            *names,
            "}",
            "#define HARNESS_JOINED(a, b) a##b",
            "#define HARNESS_INIT(name) HARNESS_JOINED(PyInit_, name)",
            "#define HARNESS_QUOTED(name) #name",
            "#define HARNESS_TEXT(name) HARNESS_QUOTED(name)",
            "PyMODINIT_FUNC HARNESS_INIT(TORCH_EXTENSION_NAME)(void) {",
            "  static PyMethodDef methods[] = {",
            *methods,
            "    {nullptr, nullptr, 0, nullptr}};",
            "  static PyModuleDef definition = {",
            "    PyModuleDef_HEAD_INIT, HARNESS_TEXT(TORCH_EXTENSION_NAME), nullptr, -1, methods,",
            "    nullptr, nullptr, nullptr, nullptr};",
            "  return harness::make_module(definition);",
            "}",
        ]
    )


def _c_string(text: str) -> str:
    """JSON's escapes are C++'s, but for characters beyond ASCII, which stay as they are."""
    return json.dumps(text, ensure_ascii=False)
