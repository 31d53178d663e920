"""How a call to a customer's address fails.

OutboundFault
├── BadAddress       the text is no address that we would call (the customer may read why)
├── AddressRefused   the address leads, or may lead, inside (one text for every reason)
├── ConnectFailed    no connection, or it broke
└── DeadlinePassed   the whole call took too long
"""

from __future__ import annotations


class OutboundFault(Exception):
    """A call to a customer's address failed. `message` is fit for the customer's eyes."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadAddress(OutboundFault):
    """The address is malformed, or uses a scheme, port or form that is not allowed.

    The message speaks of the written text alone, never of what it resolves to.
    """


class AddressRefused(OutboundFault):
    """The address does not lead to the public internet.

    One text for private, unknown and half-private names, so that nobody can map the inside by it.
    """

    def __init__(self) -> None:
        super().__init__("The address cannot be reached: it does not lead to a public address.")


class ConnectFailed(OutboundFault):
    """No connection could be made, or it broke before the answer was complete."""


class DeadlinePassed(OutboundFault):
    """The call did not end within its deadline."""

    def __init__(self, deadline_s: float) -> None:
        super().__init__(f"The address did not answer within {deadline_s:g} seconds.")
