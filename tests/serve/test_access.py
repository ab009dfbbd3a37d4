"""Who may ask, and how often."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InvalidFile
from harness.serve.access import LOCAL, Access, Owner, TokenOwner, read_tokens

ADA, BOB = TokenOwner("a" * 20, may_send_problems=True), TokenOwner("b" * 20)


@pytest.mark.parametrize(
    "header", [None, "", "a" * 20, f"Basic {'a' * 20}", "Bearer ", f"Bearer {'a' * 19}", "Bearer ä"]
)
def test_a_wrong_token_is_nobodys(header: str | None) -> None:
    assert Access({"ada": ADA}, None).owner(header) is None


def test_each_token_has_its_owner() -> None:
    access = Access({"ada": ADA, "bob": BOB}, None)
    assert access.owner(f"Bearer {'b' * 20}") == Owner("bob", may_send_problems=False)
    assert access.owner(f"bearer {'a' * 20}") == Owner("ada", may_send_problems=True)
    assert Access({}, None).owner(None) == Owner(LOCAL, may_send_problems=True)


def test_a_rate_is_kept_for_each_owner_alone() -> None:
    now = [100.0]
    access = Access({}, 60, now=lambda: now[0])
    assert [access.wait_s("ada", 60), access.wait_s("bob", 60)] == [0.0, 0.0]
    assert access.wait_s("ada", 5) == pytest.approx(5.0)
    now[0] += 5
    assert [access.wait_s("ada", 5), access.wait_s("ada", 1)] == [0.0, pytest.approx(1.0)]
    assert [access.is_beyond(60), access.is_beyond(61)] == [False, True]
    now[0] -= 50  # a clock that jumps back lends nothing
    assert access.wait_s("ada", 1) > 0


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("owners: {ada: {token: aaaaaaaaaaaaaaaaaaaa}}", 0o644, "chmod 600"),
        ("owners: {}", 0o600, "names nobody"),
        ("owners: {ada: {token: short}}", 0o600, "token"),
        ("owners: {ada: {tokn: aaaaaaaaaaaaaaaaaaaa}}", 0o600, "'token'"),
        ("owners: {a: {token: aaaaaaaaaaaaaaaaaaaa}, b: {token: aaaaaaaaaaaaaaaaaaaa}}", 0o600, "one token"),
        ("owners: {'a b': {token: aaaaaaaaaaaaaaaaaaaa}}", 0o600, "a b"),
    ],
)
def test_a_broken_file_of_tokens_is_refused(tmp_path: Path, text: str, mode: int, words: str) -> None:
    path = tmp_path / "tokens.yaml"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(InvalidFile, match=words):
        read_tokens(path)


def test_a_file_of_tokens_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tokens.yaml"
    path.write_text("owners:\n  ada: {token: aaaaaaaaaaaaaaaaaaaa, may_send_problems: true}\n")
    path.chmod(0o600)
    assert read_tokens(path) == {"ada": ADA}
