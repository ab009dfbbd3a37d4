"""Which of a compiler's errors no header cures."""

from __future__ import annotations

import pytest

from harness.worker.slim_build import HEADERS, is_final, names_unknown_to_all_headers


@pytest.mark.parametrize(
    "said",
    [
        'cuda.cu(12): error: identifier "my_own_name" is undefined',
        'cuda.cu(12): error: namespace "torch" has no member "my_own_name"',
        'cuda.cu(12): error: class "at::Tensor" has no member "my_own_name"',
        "main.cpp:4:61: error: ‘my_own_name’ was not declared in this scope; did you mean ‘name’?",
        "main.cpp:4:61: error: 'mine::my_own_name' has not been declared",
        "main.cpp:4:61: error: ‘my_own_name’ is not a member of ‘at’",
        "main.cpp:4:61: error: ‘class at::Tensor’ has no member named ‘my_own_name’",
    ],
)
def test_a_name_of_nobodys_is_found(said: str) -> None:
    assert names_unknown_to_all_headers(f"[1/2] c++ -c main.cpp\n{said}\n") == {"my_own_name"}


@pytest.mark.parametrize(
    ("name", "whose"),
    [("accumulate", "the compiler's"), ("cat_outf", "torch's"), ("kReflect", "torch's"), ("kMyOwnPadding", "nobody's")],
)
def test_a_name_that_some_header_has_may_yet_be_declared(name: str, whose: str) -> None:
    """torch writes Reflect, and pastes the k."""
    said = f"main.cpp:2:3: error: ‘{name}’ was not declared in this scope"
    assert names_unknown_to_all_headers(said) == ({name} if whose == "nobody's" else set())


@pytest.mark.parametrize(
    "said",
    [
        "main.cpp:2:43: error: expected ‘;’ before ‘my_own_name’",
        "main.cpp:2:43: warning: ‘my_own_name’ was not declared in this scope",
        f"{HEADERS}/harness/binding.h:9:1: error: ‘my_own_name’ was not declared in this scope",
    ],
)
def test_other_errors_say_nothing(said: str) -> None:
    assert names_unknown_to_all_headers(said) == set()


UNKNOWN_HERE = 'cuda.cu(4): error: identifier "kReflect" is undefined'
"""torch has a word for it."""
SYNTAX = 'cuda.cu(3): error: expected a ";"'


@pytest.mark.parametrize(
    ("said", "is_last_word"),
    [
        ([SYNTAX], True),
        ([UNKNOWN_HERE], False),
        ([UNKNOWN_HERE, SYNTAX], False),  # which may follow from it
        ([UNKNOWN_HERE, 'cuda.cu(9): error: identifier "my_own_name" is undefined'], True),
        (["ptxas /tmp/a.ptx, line 4; error   : Arguments mismatch for instruction 'mad'"], True),
        (["ninja: build stopped: subcommand failed."], False),
    ],
)
def test_what_follows_from_other_errors_is_not_final(said: list[str], is_last_word: bool) -> None:
    assert is_final("\n".join(said)) is is_last_word
