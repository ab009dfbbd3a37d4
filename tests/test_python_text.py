"""Parsing, one thread at a time."""

from __future__ import annotations

import ast
import threading

from harness import python_text
from harness.python_text import literal_value, parse


def test_text_is_parsed_as_python_has_it() -> None:
    assert ast.dump(parse("x = 1\n")) == ast.dump(ast.parse("x = 1\n"))
    assert literal_value(r"'a\n' 'b'") == "a\nb"


def test_a_second_thread_waits_until_the_first_has_parsed() -> None:
    other = threading.Thread(target=parse, args=("x = 1",))
    with python_text._ALONE:
        other.start()
        other.join(0.1)
        assert other.is_alive()
    other.join(10)
    assert not other.is_alive()
