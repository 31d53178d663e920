"""What a private key may do."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

KeyScope: TypeAlias = Literal[
    "tests:read",
    "tests:write",
    "runs:write",
    "evaluations:write",
    "account:read",
    "account:write",
    "judge",
]
KeyKind: TypeAlias = Literal["private", "public"]

ALL_SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)
