"""API keys as texts, and where a request carries them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from parley.server.accounts.credentials import find_token, take_query_keys
from parley.server.accounts.scopes import KeyKind
from parley.server.accounts.tokens import digest, kind_of, new_token, shown
from parley.server.errors import InvalidKey, MissingKey

TOKEN = "sk-par-abc"


@pytest.mark.parametrize(("kind", "prefix"), [("private", "sk-par-"), ("public", "pk-par-")])
def test_new_key_tells_its_kind(kind: KeyKind, prefix: str) -> None:
    tokens = {new_token(kind) for _ in range(50)}
    assert len(tokens) == 50
    for token in tokens:
        assert token.startswith(prefix)
        assert kind_of(token) == kind


def test_one_wrong_character_is_noticed_without_a_database() -> None:
    token = new_token("private")
    for at in range(len(token)):
        other = "x" if token[at] != "x" else "y"
        assert kind_of(token[:at] + other + token[at + 1 :]) is None


@pytest.mark.parametrize("change", ["", " ", "\n", "é", "0"])
def test_key_with_something_added_is_none(change: str) -> None:
    token = new_token("private")
    assert (kind_of(token + change) is None) == bool(change)
    assert kind_of(token[1:]) is None


def test_kinds_cannot_be_swapped() -> None:
    assert kind_of("sk" + new_token("public")[2:]) is None


def test_digest_and_shown_form_do_not_give_the_key() -> None:
    token = new_token("private")
    assert len(digest(token)) == 32
    assert token[11:-4] not in shown(token)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer sk-par-abc"},
        {"authorization": "bearer   sk-par-abc "},
        {"authorization": "Basic " + base64.b64encode(b"any:sk-par-abc").decode()},
        {"authorization": "Basic " + base64.b64encode(b"sk-par-abc").decode()},
        {"authorization": "Basic " + base64.b64encode(b"a:b:sk-par-abc").decode()},
        {"x-api-key": "sk-par-abc"},
    ],
)
def test_key_is_found_in_headers(headers: dict[str, str]) -> None:
    assert find_token(headers) == TOKEN


def test_key_is_found_in_the_query() -> None:
    assert find_token({}, (TOKEN,)) == TOKEN


@pytest.mark.parametrize("headers", [{}, {"x-api-key": " "}, {"authorization": "Bearer "}, {"cookie": TOKEN}])
def test_nothing_sent_is_missing(headers: dict[str, str]) -> None:
    with pytest.raises(MissingKey):
        find_token(headers)


@pytest.mark.parametrize("value", ["Token sk-par-abc", "Basic not-base64!", "Basic /w==", "sk-par-abc"])
def test_unreadable_authorization_is_told(value: str) -> None:
    with pytest.raises(InvalidKey):
        find_token({"authorization": value})


@pytest.mark.parametrize(
    ("query", "keys", "rest"),
    [
        (b"", (), b""),
        (b"limit=5", (), b"limit=5"),
        (b"limit=5&q=%20a", (), b"limit=5&q=%20a"),
        (b"api-key=sk&limit=5", ("sk",), b"limit=5"),
        (b"API-KEY=sk", ("sk",), b""),
        (b"api%2Dkey=sk&x=1", ("sk",), b"x=1"),
        (b"%61pi-key=sk&x=a+b", ("sk",), b"x=a+b"),
        (b"api-key=a&api-key=b", ("a", "b"), b""),
        (b"x=api-key", (), b"x=api-key"),
    ],
)
def test_key_is_taken_out_of_the_query(query: bytes, keys: tuple[str, ...], rest: bytes) -> None:
    scope: dict[str, Any] = {"query_string": query}
    assert take_query_keys(scope) == keys
    assert scope["query_string"] == rest
