"""What a hook is sent, and how it is signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from decimal import Decimal
from typing import get_args
from uuid import UUID

import bcrypt
import pytest

from parley.engine.spec import HookEvent
from parley.server.hooks.envelope import HookSource, envelope, headers_of, message_id
from parley.server.hooks.keys import Credentials, nonce_of
from parley.server.kit.signing import new_secret, signature_of

TEST, RUN, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)
SOURCE = HookSource(test_id=TEST, run_id=RUN, gateway_id=None)


def test_envelope_has_the_form_of_the_contract() -> None:
    body = envelope(SOURCE, "after-test", {"score": Decimal("0.725"), "turn_number": 2}, 1_700_000_000_123)
    assert json.loads(body) == {
        "testId": str(TEST),
        "runId": str(RUN),
        "gatewayId": None,
        "moment": "2023-11-14T22:13:20.123Z",
        "event": {"name": "after-test", "data": {"score": 0.725, "turn_number": 2}},
    }


def test_id_of_a_call_is_the_same_again_and_no_other_calls() -> None:
    ids = [
        message_id(run, event, turn, index)
        for run in (RUN, OTHER)
        for event in get_args(HookEvent)
        for turn in (0, 1, 11)
        for index in (0, 1, 11)
    ]
    assert len(set(ids)) == len(ids)
    assert message_id(RUN, "after-test", 1, 0) == message_id(RUN, "after-test", 1, 0)
    assert all("." not in each and len(each) < 100 for each in ids)


def test_key_is_32_random_bytes_that_bcrypt_takes_whole() -> None:
    """C122: 50 bytes, so no library cuts it or raises at 72."""
    key = new_secret()
    assert key.startswith("whsec_")
    assert len(base64.b64decode(key.removeprefix("whsec_"), validate=True)) == 32
    assert len(key.encode()) == 50
    assert key != new_secret()


def test_nonce_is_the_keys_hash_at_cost_10_and_never_the_same() -> None:
    """C122"""
    key = new_secret()
    first, second = nonce_of(key), nonce_of(key)
    assert first != second
    for nonce in (first, second):
        assert nonce.startswith("$2b$10$")
        assert bcrypt.checkpw(key.encode(), nonce.encode())
    assert not bcrypt.checkpw(key[:-1].encode(), first.encode())


def test_signature_is_that_of_standard_webhooks() -> None:
    secret = bytes(range(32))
    key = "whsec_" + base64.b64encode(secret).decode()
    digest = hmac.new(secret, b'msg_1.1700000000.{"a":1}', hashlib.sha256).digest()
    signature = signature_of(key, "msg_1", 1_700_000_000, b'{"a":1}')
    assert signature == "v1," + base64.b64encode(digest).decode()


@pytest.mark.parametrize("credentials", [None, Credentials(new_secret(), "$2b$10$x")])
def test_headers_tell_who_calls_only_with_a_key(credentials: Credentials | None) -> None:
    headers = headers_of("msg_1", 1_700_000_000, b"{}", credentials)
    assert {"Content-Type", "User-Agent", "webhook-id", "webhook-timestamp"} <= set(headers)
    signed = {"webhook-signature", "X-Request-Nonce"} & set(headers)
    assert len(signed) == (0 if credentials is None else 2)


def test_credentials_do_not_show_themselves() -> None:
    assert "canary" not in repr(Credentials("canary", "canary"))
