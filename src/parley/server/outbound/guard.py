"""Which addresses may be called: the public internet, and what the operator lists. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_network

from parley.server.outbound.address import IpAddress, IpNetwork, Target, is_public, parse, unwrapped
from parley.server.outbound.errors import AddressRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPolicy:
    """The operator's exceptions to "public addresses only"; none by default.

    `allowed_networks` may be reached under any name, `allowed_hosts` (exact names, lower case) at
    any address. Ports and forms of an address are bound by `address.parse` all the same.
    """

    allowed_networks: tuple[IpNetwork, ...] = ()
    allowed_hosts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, networks: Iterable[str] = (), hosts: Iterable[str] = ()) -> OutboundPolicy:
        """Read the policy from settings' texts. Raises `ValueError` for a malformed network."""
        return cls(
            allowed_networks=tuple(ip_network(network.strip()) for network in networks),
            allowed_hosts=frozenset(host.strip().lower().removesuffix(".") for host in hosts),
        )

    def permits(self, host: str, ip: IpAddress) -> bool:
        """Whether `host` may be called at `ip`."""
        if is_public(ip) or host in self.allowed_hosts:
            return True
        real = unwrapped(ip)
        return any(real in network for network in self.allowed_networks)

    def check(self, host: str, ips: Iterable[IpAddress]) -> None:
        """Raise `AddressRefused` unless there is an address and every one is permitted."""
        answers = tuple(ips)
        if not answers or not all(self.permits(host, ip) for ip in answers):
            raise AddressRefused

    def read(self, url: str) -> Target:
        """Parse `url` and check it as far as its text alone allows.

        For saving an address: raises `BadAddress` or `AddressRefused` at once for literals; names
        are checked when they are called, since their answers change.
        """
        target = parse(url)
        if target.literal is not None:
            self.check(target.host, (target.literal,))
        return target
