"""Sealing of secrets."""

from __future__ import annotations

import dataclasses
from uuid import UUID

import pytest

from parley.server.kit.crypto import Keyring, Place, UnsealError

OLD = "old key old key old key old key old key"
NEW = "new key new key new key new key new key"
PLACE = Place(UUID(int=1), "ai_gateways", UUID(int=2), "api_key")


def test_sealed_secret_opens_where_it_was_sealed() -> None:
    keyring = Keyring([NEW])
    sealed = keyring.seal("sécret", PLACE)
    assert keyring.open(sealed, PLACE) == "sécret"
    assert "sécret".encode() not in sealed


def test_two_seals_of_one_secret_differ() -> None:
    keyring = Keyring([NEW])
    assert keyring.seal("secret", PLACE) != keyring.seal("secret", PLACE)


@pytest.mark.parametrize(
    "moved", [{"account_id": UUID(int=9)}, {"table": "hooks"}, {"row_id": UUID(int=9)}, {"field": "headers"}]
)
def test_secret_moved_elsewhere_does_not_open(moved: dict[str, object]) -> None:
    keyring = Keyring([NEW])
    with pytest.raises(UnsealError):
        keyring.open(keyring.seal("secret", PLACE), dataclasses.replace(PLACE, **moved))  # type: ignore[arg-type]


@pytest.mark.parametrize("at", [0, 1, 5, 17, -1])
def test_altered_secret_does_not_open(at: int) -> None:
    keyring = Keyring([NEW])
    sealed = bytearray(keyring.seal("secret", PLACE))
    sealed[at] ^= 1
    with pytest.raises(UnsealError):
        keyring.open(bytes(sealed), PLACE)


@pytest.mark.parametrize("length", [0, 1, 4, 5, 10, 17, 20])
def test_cut_secret_does_not_open(length: int) -> None:
    keyring = Keyring([NEW])
    with pytest.raises(UnsealError):
        keyring.open(keyring.seal("secret", PLACE)[:length], PLACE)


def test_rotation_opens_the_old_and_seals_with_the_new() -> None:
    sealed_before = Keyring([OLD]).seal("secret", PLACE)
    both = Keyring([NEW, OLD])
    assert both.open(sealed_before, PLACE) == "secret"
    assert not both.is_current(sealed_before)
    sealed_after = both.seal("secret", PLACE)
    assert both.is_current(sealed_after)
    assert Keyring([NEW]).open(sealed_after, PLACE) == "secret"
    with pytest.raises(UnsealError):
        Keyring([NEW]).open(sealed_before, PLACE)


@pytest.mark.parametrize("keys", [[], ["short"], [NEW, "x" * 31]])
def test_missing_and_short_keys_are_refused(keys: list[str]) -> None:
    with pytest.raises(ValueError, match="32"):
        Keyring(keys)
