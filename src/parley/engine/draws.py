"""Chance that can be repeated: each draw has a key of its own, so that a resumed run draws the same."""

from __future__ import annotations

import hashlib

_BITS = 53
"""Bits of a float's fraction: every draw is a whole multiple of 2**-53, exact on every machine."""


class Draw:
    """Numbers that depend on the key alone.

    They are digests of the key and a count (SHA-256), so they stay the same across processes, platforms
    and versions of Python, which the standard generators do not promise for more than their floats.
    Not for secrets.
    """

    __slots__ = ("_count", "_key")

    def __init__(self, key: str) -> None:
        self._key = key
        self._count = 0

    def random(self) -> float:
        """The next number, uniform in 0 <= x < 1."""
        digest = hashlib.sha256(f"{self._key}#{self._count}".encode()).digest()
        self._count += 1
        return (int.from_bytes(digest[:8], "big") >> (64 - _BITS)) * 2.0**-_BITS

    def below(self, bound: int) -> int:
        """The next whole number, uniform in 0 <= n < `bound`. Raises ValueError for a bound below 1."""
        if bound < 1:
            raise ValueError(f"nothing lies below {bound}")
        return int(self.random() * bound)


def draw(seed: int, turn: int, purpose: str) -> Draw:
    """The numbers drawn for one `purpose` at one `turn` of a run with this `seed`.

    Two calls with equal arguments give equal numbers; any other arguments give unrelated ones.
    """
    return Draw(f"{seed}/{turn}/{purpose}")
