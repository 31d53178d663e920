"""Who is calling, what the plan allows, and the gateways of the account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parley.sdk.answers import Balance, Gateway, Limits, WhoAmI
from parley.sdk.call import Call, data_of, get, segment
from parley.sdk.offers import D, Group, Method, Paged
from parley.sdk.paging import Page, page_of

GATEWAYS = "/api/v1/ai-gateways"


def whoami() -> Call[WhoAmI]:
    """The account and the scopes of the key."""
    return get("/api/v1/whoami", data_of(WhoAmI))


def limits() -> Call[Limits]:
    """What the plan allows, and where the account stands."""
    return get("/api/v1/limits", data_of(Limits))


def balance() -> Call[Balance]:
    """What is left, US dollars."""
    return get("/api/v1/information/balance", data_of(Balance))


def list_gateways(*, limit: int = 100) -> Call[Page[Gateway]]:
    """The account's gateways, newest first."""
    return get(GATEWAYS, page_of(Gateway), limit=limit)


def get_gateway(gateway_id: str) -> Call[Gateway]:
    """A gateway, without its secrets."""
    return get(f"{GATEWAYS}/{segment(gateway_id)}", data_of(Gateway))


def create_gateway(fields: Mapping[str, Any]) -> Call[Gateway]:
    """Make a gateway: at least `name`, `base_url`, `model`."""
    return Call(method="POST", path=GATEWAYS, read=data_of(Gateway), body=dict(fields))


class Account(Group[D]):
    """`client.account`."""

    whoami = Method(whoami)
    limits = Method(limits)
    balance = Method(balance)


class Gateways(Group[D]):
    """`client.gateways`."""

    list = Paged(list_gateways)
    get = Method(get_gateway)
    create = Method(create_gateway)
